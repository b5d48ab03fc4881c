use crate::error::ApiError;

/// A refusal blames the request, in a bounded answer.
pub(crate) fn refused(error: &ApiError) {
    let problem = error.problem();
    assert!((400..500).contains(&problem.status), "{} for {problem:?}", problem.status);
    assert!(problem.detail.len() <= 16 << 10, "{} bytes of detail", problem.detail.len());
    if let Some(field) = problem.field {
        assert!(field.chars().count() <= 80, "{field}");
    }
}
