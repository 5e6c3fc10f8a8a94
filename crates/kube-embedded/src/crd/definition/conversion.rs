//! Validates the conversion between versions.

use super::super::structure::Schema;
use crate::status::FieldError;

/// Validates the strategy and its fields.
pub(super) fn check(conversion: Schema<'_>, errors: &mut Vec<FieldError>) {
    if !conversion.0.is_object() {
        return;
    }
    let strategy = conversion.text("strategy");
    match strategy {
        "None" | "Webhook" => {}
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        other => {
            let error = FieldError::not_supported("spec.conversion.strategy", other, &["None", "Webhook"]);
            errors.push(error);
        }
    }
    let config = &conversion.0["webhook"]["clientConfig"];
    let reviews = Schema(&conversion.0["webhook"]);
    let config_field = "spec.conversion.webhookClientConfig";
    let reviews_field = "spec.conversion.conversionReviewVersions";
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_object() {
            errors.push(FieldError::forbidden(config_field, detail));
        }
        if !reviews.list("conversionReviewVersions").is_empty() {
            errors.push(FieldError::forbidden(reviews_field, detail));
        }
        return;
    }
    if !config.is_object() {
        errors.push(FieldError::required(
            config_field,
            "required when strategy is set to Webhook",
        ));
    } else if config["url"].is_null() == config["service"].is_null() {
        errors.push(FieldError::required(
            config_field,
            "exactly one of url or service is required",
        ));
    }
    let versions: Vec<&str> = reviews.texts("conversionReviewVersions").collect();
    if versions.is_empty() {
        errors.push(FieldError::required(reviews_field, ""));
    } else if !versions.iter().any(|v| matches!(*v, "v1" | "v1beta1")) {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(reviews_field, versions, detail));
    }
}
