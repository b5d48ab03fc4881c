//! Parameters that several operations have, as components.

use std::collections::BTreeMap;

use utoipa::{
    IntoParams,
    openapi::{
        Object, Ref, RefOr, Required, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn},
    },
};

use crate::params::{
    AddressInPath, BlockInPath, Blocks, OwnerParams, Paging, TokenIdPath, TransactionInPath, WebhookIdParam,
};

const MIN_BLOCK: &str = "MinBlock";

/// The components, by the types that declare them.
pub(super) fn components() -> BTreeMap<String, RefOr<Parameter>> {
    let declared = [
        named(&["Address"], AddressInPath::into_params(|| None)),
        named(&["Block"], BlockInPath::into_params(|| None)),
        named(&["BlockFrom", "BlockTo"], Blocks::into_params(|| None)),
        named(&["Owner"], OwnerParams::into_params(|| None)),
        named(&["Page", "Limit"], Paging::into_params(|| None)),
        // The first one is an address in a path like all others.
        named(&["TokenId"], TokenIdPath::into_params(|| None).split_off(1)),
        named(&["TransactionHash"], TransactionInPath::into_params(|| None)),
        named(&["WebhookId"], WebhookIdParam::into_params(|| None)),
        named(&[MIN_BLOCK], vec![min_block()]),
    ];
    declared.into_iter().flatten().map(|(name, parameter)| (name, parameter.into())).collect()
}

fn named(names: &[&str], parameters: Vec<Parameter>) -> Vec<(String, Parameter)> {
    names.iter().map(|name| (*name).to_owned()).zip(parameters).collect()
}

fn min_block() -> Parameter {
    let description =
        "The number of a block that the response must include; 503 `block_not_reached` after a second without it";
    ParameterBuilder::new()
        .name("X-Explorer-Min-Block")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(Object::with_type(Type::String)))
        .build()
}

pub(super) fn add_min_block(operation: &mut Operation) {
    operation.parameters.get_or_insert_default().push(RefOr::Ref(reference(MIN_BLOCK)));
}

/// Replaces parameters of the operation by references to equal components.
pub(super) fn share(operation: &mut Operation, components: &BTreeMap<String, RefOr<Parameter>>) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let Some((name, _)) = components.iter().find(|(_, shared)| *shared == parameter) {
            *parameter = RefOr::Ref(reference(name));
        }
    }
}

fn reference(name: &str) -> Ref {
    Ref::new(format!("#/components/parameters/{name}"))
}
