//! Signing in, and the settings that a client goes by.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use expect_test::expect;

use super::site::Site;
use crate::program::{Ended, program, run};

/// The program on the machine of somebody else: it knows the address and nothing more.
fn elsewhere(site: &Site, arguments: &[&str]) -> Command {
    let mut command = program(site.server.home.path());
    command.env("STEPWELL_SERVER", &site.server.url).args(arguments);
    command
}

fn fed(command: &mut Command, text: &str) -> Ended {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it reads");
    child.wait_with_output().expect("the program ends").into()
}

// A-164, A-169, X-085: a token is kept for its server, used, and forgotten.
#[test]
fn a_token_is_kept_for_its_server_alone_until_somebody_signs_out() {
    let site = Site::new();
    run(&mut elsewhere(&site, &["runbook", "list"])).with_code(6);
    let login = ["auth", "login", "--token-stdin"];
    let refused = fed(&mut elsewhere(&site, &login), "swl_wrong").with_code(6);
    assert!(refused.stderr.contains("nothing was kept"), "{}", refused.stderr);
    fed(&mut elsewhere(&site, &login), &site.server.token).with_code(0);
    let kept = site.path(".config/stepwell/credentials.json");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);

    run(&mut elsewhere(&site, &["runbook", "list"])).with_code(0);
    let again = run(&mut elsewhere(&site, &["auth", "login"])).with_code(0);
    assert!(again.stdout.contains("already"), "{}", again.stdout);
    let status = run(&mut elsewhere(&site, &["auth", "status", "--output", "json"])).with_code(0);
    assert_eq!(status.json()["accepted"], true);
    assert!(!status.stdout.contains(&site.server.token));
    let other = ["runbook", "list", "--api-url", "http://127.0.0.1:1"];
    run(&mut elsewhere(&site, &other)).with_code(6);

    run(&mut elsewhere(&site, &["auth", "logout"])).with_code(0);
    run(&mut elsewhere(&site, &["runbook", "list"])).with_code(6);
}

// A-167: without settings of a provider nobody is sent to one.
#[test]
fn signing_in_without_a_provider_says_what_to_set() {
    let home = tempfile::tempdir().unwrap();
    let ended = run(program(home.path()).args(["auth", "login"])).with_code(2);
    expect![[r#"
        error: to sign in through an identity provider, tenant_id and client_id must be set
          next: set them with `stepwell config set`, or sign in with a token of the server: `stepwell auth login --token-stdin`
    "#]].assert_eq(&ended.stderr);
    let mut half = program(home.path());
    let ended = run(half.args(["auth", "login"]).env("MATOOLKIT_TENANT_ID", "t")).with_code(2);
    assert!(ended.stderr.contains("client_id must be set"), "{}", ended.stderr);
}

// A-166: the option, then the variable, then the file of the tool that was there before.
#[test]
fn the_settings_of_the_tool_before_count_in_their_order() {
    let home = tempfile::tempdir().unwrap();
    let shown = |environment: &[(&str, &str)], flags: &[&str]| {
        let mut command = program(home.path());
        command.args(["config", "show", "--output", "json"]).args(flags);
        run(command.envs(environment.iter().copied())).with_code(0).json()
    };
    std::fs::create_dir(home.path().join(".matoolkit")).unwrap();
    let before =
        r#"{"api-url": "http://file", "tenant-id": "t", "client-id": "c", "api-scope": "s"}"#;
    std::fs::write(home.path().join(".matoolkit/config.json"), before).unwrap();
    let of_file = shown(&[], &[]);
    for (key, value) in
        [("server", "http://file"), ("tenant_id", "t"), ("client_id", "c"), ("api_scope", "s")]
    {
        assert_eq!(of_file[key]["value"], value);
    }
    let variables = [
        ("MATOOLKIT_API_URL", "http://variable"),
        ("MATOOLKIT_TENANT_ID", "t2"),
        ("MATOOLKIT_CLIENT_ID", "c2"),
        ("MATOOLKIT_API_SCOPE", "s2"),
    ];
    let of_variables = shown(&variables, &[]);
    assert_eq!(of_variables["server"]["value"], "http://variable");
    assert_eq!(of_variables["tenant_id"]["value"], "t2");
    assert_eq!(of_variables["client_id"]["value"], "c2");
    assert_eq!(of_variables["api_scope"]["value"], "s2");
    let of_flag = shown(&variables, &["--api-url", "http://flag"]);
    assert_eq!(of_flag["server"]["value"], "http://flag");
}

// A-164, X-086: a setting is written by its name, into a file that nobody else can read.
#[test]
fn a_setting_is_written_and_the_rest_of_the_file_stays() {
    let home = tempfile::tempdir().unwrap();
    let config = |arguments: &[&str]| run(program(home.path()).arg("config").args(arguments));
    let path = config(&["path"]).with_code(0).stdout.trim().to_owned();
    assert!(path.ends_with(".config/stepwell/stepwell.toml"), "{path}");
    config(&["set", "api-url", "http://one"]).with_code(0);
    config(&["set", "tenant-id", "t"]).with_code(0);
    config(&["set", "client-id", "c"]).with_code(0);
    config(&["set", "api-scope", "s"]).with_code(0);
    config(&["set", "server", "http://two"]).with_code(0);
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        written,
        "server = \"http://two\"\ntenant_id = \"t\"\nclient_id = \"c\"\napi_scope = \"s\"\n"
    );
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let is_open = |path: &str| std::fs::metadata(path).unwrap().permissions().mode() & 0o044 != 0;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    config(&["set", "server", "http://two"]).with_code(0);
    assert!(is_open(&path), "others could read it before");
    config(&["set", "token", "swl_secret"]).with_code(0);
    assert!(!is_open(&path), "it holds a secret now");
    std::fs::write(&path, &written).unwrap();
    let unknown = config(&["set", "api-ulr", "http://three"]).with_code(2);
    assert!(unknown.stderr.contains("there is no setting \"api-ulr\""), "{}", unknown.stderr);
    let wrong = config(&["set", "server", "three"]).with_code(2);
    assert!(wrong.stderr.contains("next: write a URL"), "{}", wrong.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
}
