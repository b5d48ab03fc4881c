/// A page of a list: the entries under a name of their own, the number of all entries, the paging, what the list has beside
/// that, and `with coverage` since which block its numbers are. A macro, since the schemas of a generic type would change the
/// document from which clients make their code.
macro_rules! list {
    (
        $(#[$doc:meta])*
        pub struct $name:ident $(with $coverage:ident)? {
            $items:ident: $item:ty,
            total
            $(, $(#[$of_field:meta])* $field:ident: $kind:ty)*
            $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, serde::Serialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub $items: Vec<$item>,
            #[schema(value_type = $crate::wire::Total)]
            pub total: u64,
            pub page: u64,
            pub limit: u32,
            $($(#[$of_field])* pub $field: $kind,)*
            $(#[serde(flatten)] pub $coverage: $crate::wire::Coverage,)?
        }

        impl $name {
            #[allow(clippy::too_many_arguments, reason = "one for each field")]
            fn of(
                page: domain::Page<$item>,
                paging: $crate::params::Paging,
                $($field: $kind,)*
                $($coverage: domain::Coverage,)?
            ) -> Self {
                Self {
                    $items: page.items,
                    total: page.total,
                    page: paging.page(),
                    limit: paging.limit(),
                    $($field,)*
                    $($coverage: $coverage.into(),)?
                }
            }
        }
    };
}

pub(crate) use list;
