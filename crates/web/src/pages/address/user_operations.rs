use contracts::{UserOperationRole, list_user_operations};
use domain::Page;

use super::tab_request::TabRequest;
use crate::{error::PageError, view::UserOperationRow};

impl TabRequest<'_> {
    pub(super) async fn user_operation_rows(
        &self,
        role: UserOperationRole,
    ) -> Result<Page<UserOperationRow>, PageError> {
        let Page { items, total } = list_user_operations(&*self.app.chain, self.address, role, self.page).await?;
        let rows = items.iter().map(|operation| UserOperationRow::new(operation, self.names));
        Ok(Page { items: rows.collect(), total })
    }
}
