//! The document of the API: what all operations share.

use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref,
    ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use crate::error::PROBLEM_JSON;
use crate::routes::Access;
use crate::schema;

const TOKEN: &str = "token";
const CALLBACK: &str = "callback";

/// A document without operations.
pub(crate) fn empty() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Stepwell")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "A durable orchestrator. Every error is a problem document (RFC 9457) with a stable \
             `code` and what to do `next`. Moments are UTC, RFC 3339.",
        ))
        .license(Some(
            LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build(),
        ))
        .build();
    let bearer = |description: &str| {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
        SecurityScheme::Http(scheme.description(Some(description)).build())
    };
    let mut components = ComponentsBuilder::new()
        .schema(schema::Problem::name(), schema::Problem::schema())
        .security_scheme(TOKEN, bearer("an API token, `swl_…`"))
        .security_scheme(CALLBACK, bearer("the token of a directive's callback URL, `cb1.…`"))
        .build();
    let mut schemas = Vec::new();
    schema::Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// Adds to an operation what follows from its access: who may call it, and how it fails.
pub(crate) fn complete(operation: &mut Operation, access: Access) {
    let (scheme, permission) = match access {
        Access::Open | Access::Signature => (None, None),
        Access::Callback => (Some(CALLBACK), None),
        Access::Needs(permission) => (Some(TOKEN), Some(permission.word())),
    };
    let requirement = scheme.map(|scheme| SecurityRequirement::new(scheme, [] as [&str; 0]));
    operation.security = Some(requirement.into_iter().collect());
    if let Some(permission) = permission {
        let extension = ExtensionsBuilder::new().add("x-permission", permission).build();
        operation.extensions.get_or_insert_default().merge(extension);
    }
    let problem = Ref::from_schema_name(schema::Problem::name());
    let problem = ResponseBuilder::new()
        .description("Why it was not done, and what to do next")
        .content(PROBLEM_JSON, ContentBuilder::new().schema(Some(problem)).build())
        .build();
    operation.responses.responses.insert("default".to_owned(), problem.into());
}
