use super::*;

#[test]
fn table_is_sorted() {
    let table = table();
    assert!(
        table
            .kinds
            .is_sorted_by_key(|(api_version, kind, _)| (*api_version, *kind))
    );
    assert!(table.messages.is_sorted_by_key(|m| (m.package, m.name)));
    for message in &table.messages {
        let fields = table.fields(message);
        assert!(
            fields.is_sorted_by(|a, b| a.number < b.number),
            "fields of {} {}",
            message.package,
            message.name
        );
    }
    let fields: usize = table.messages.iter().map(|m| usize::from(m.field_count)).sum();
    assert_eq!(fields, table.fields.len());
}

#[test]
fn kinds_have_messages() {
    let cases = [
        ("v1", "Pod", "k8s.io.api.core.v1.Pod"),
        ("v1", "Status", "k8s.io.apimachinery.pkg.apis.meta.v1.Status"),
        ("apps/v1", "DeploymentList", "k8s.io.api.apps.v1.DeploymentList"),
        ("autoscaling/v1", "Scale", "k8s.io.api.autoscaling.v1.Scale"),
        ("policy/v1", "Eviction", "k8s.io.api.policy.v1.Eviction"),
        (
            "authentication.k8s.io/v1",
            "TokenReview",
            "k8s.io.api.authentication.v1.TokenReview",
        ),
        (
            "meta.k8s.io/v1",
            "PartialObjectMetadataList",
            "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList",
        ),
        (
            "example.org/v1",
            "DeleteOptions",
            "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        ),
    ];
    for (api_version, kind, message) in cases {
        let found = table().kind(api_version, kind);
        assert!(found.is_some(), "{api_version} {kind}");
        assert_eq!(found, table().message_named(message), "{api_version} {kind}");
    }
    for (api_version, kind) in [
        ("v1", "Widget"),
        ("apps/v1", "Pod"),
        ("", ""),
        ("meta.k8s.io/v1", "Table"),
    ] {
        assert_eq!(table().kind(api_version, kind), None, "{api_version} {kind}");
    }
}

#[test]
fn inlined_fields_have_unique_names() {
    for name in table().names() {
        let id = table().message_named(&name).unwrap();
        let mut names = json_names(id);
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(all, names.len(), "{name}");
    }
}

#[test]
fn max_inline_depth_matches_the_table() {
    fn inlined(id: MessageId) -> usize {
        let fields = table().fields(table().message(id)).iter();
        let inlined = fields.map(|field| match field.kind {
            ValueKind::Message(inner) if field.inline => 1 + inlined(inner),
            _ => 0,
        });
        inlined.max().unwrap_or_default()
    }
    assert_eq!(table().ids().map(inlined).max(), Some(MAX_INLINE_DEPTH));
}

fn json_names(id: MessageId) -> Vec<&'static str> {
    let mut names = Vec::new();
    for field in table().fields(table().message(id)) {
        match field.kind {
            ValueKind::Message(inner) if field.inline => names.extend(json_names(inner)),
            _ => names.push(field.name),
        }
    }
    names
}
