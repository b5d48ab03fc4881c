//! Changes of derived schemas.

use std::mem;

use utoipa::openapi::{RefOr, Schema, schema::OneOf};

/// Moves the description of a field that may be null from the alternative to the field, where generators look for it.
pub(super) fn lift_descriptions(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => object.properties.values_mut().for_each(lift_descriptions),
        Schema::AllOf(all) => all.items.iter_mut().for_each(lift_descriptions),
        Schema::OneOf(OneOf { items, description: description @ None, .. }) => {
            let described = items.iter_mut().find_map(|item| match item {
                RefOr::Ref(item) if !item.description.is_empty() => Some(mem::take(&mut item.description)),
                _ => None,
            });
            *description = described;
        }
        _ => {}
    }
}

/// Removes what follows from the types of the fields of responses: that a number is not negative, that names are strings.
pub(super) fn drop_bounds(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::AllOf(all) => all.items.iter_mut().for_each(drop_bounds),
        // Only bodies of requests reject unknown fields.
        Schema::Object(object) if object.additional_properties.is_none() => {
            for field in object.properties.values_mut() {
                if let RefOr::T(Schema::Object(field)) = field {
                    field.minimum = None;
                    field.property_names = None;
                }
            }
        }
        _ => {}
    }
}
