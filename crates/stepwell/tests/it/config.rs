//! Where settings come from.

use crate::program::{program, run};

#[test]
fn a_flag_goes_before_the_environment_before_the_file_before_the_default() {
    let home = tempfile::tempdir().unwrap();
    let show = |environment: Option<&str>, flag: Option<&str>| {
        let mut command = program(home.path());
        command.args(["config", "show", "--output", "json"]);
        command.envs(environment.map(|value| ("STEPWELL_TENANT_CAP", value)));
        command.args(flag.map(|value| format!("--tenant-cap={value}")));
        let shown = run(&mut command).with_code(0).json()["tenant_cap"].clone();
        let text = |key: &str| shown[key].as_str().unwrap().to_owned();
        (text("value"), text("origin"))
    };
    assert_eq!(show(None, None), ("100".to_owned(), "default".to_owned()));
    std::fs::write(home.path().join("stepwell.toml"), "tenant_cap = 7\n").unwrap();
    let (value, origin) = show(None, None);
    assert_eq!(value, "7");
    assert!(origin.ends_with("stepwell.toml:1"), "{origin}");
    assert_eq!(show(Some("8"), None), ("8".to_owned(), "STEPWELL_TENANT_CAP".to_owned()));
    assert_eq!(show(Some("8"), Some("9")), ("9".to_owned(), "--tenant-cap".to_owned()));
}

#[test]
fn a_file_may_be_named_or_lie_in_the_xdg_directory() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/stepwell");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("stepwell.toml"), "retention = \"30d\"\n").unwrap();
    let show = ["config", "show", "--output", "json"];
    let shown = run(program(home.path()).args(show)).with_code(0).json();
    assert_eq!(shown["retention"]["value"], "30d");
    std::fs::write(home.path().join("other.toml"), "retention = \"7d\"\n").unwrap();
    let named = run(program(home.path()).args(show).args(["--config", "other.toml"]));
    assert_eq!(named.with_code(0).json()["retention"]["value"], "7d");
}

#[test]
fn a_misspelled_setting_is_refused_with_its_line_and_what_was_meant() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("stepwell.toml"), "\nlissten = \"x\"\n").unwrap();
    let ended = run(program(home.path()).args(["config", "show"])).with_code(2);
    assert!(ended.stderr.contains("stepwell.toml:2: there is no setting \"lissten\""));
    assert!(ended.stderr.contains("did you mean \"listen\"?"), "{}", ended.stderr);
}

#[test]
fn a_token_is_never_shown() {
    let home = tempfile::tempdir().unwrap();
    for output in ["table", "json"] {
        let mut command = program(home.path());
        command.args(["config", "show", "--output", output]).env("STEPWELL_TOKEN", "swl_secret");
        let ended = run(&mut command).with_code(0);
        assert!(!ended.stdout.contains("swl_secret"), "{}", ended.stdout);
        assert!(ended.stdout.contains("STEPWELL_TOKEN"), "{}", ended.stdout);
    }
}

#[test]
fn the_password_of_a_store_is_never_shown() {
    let home = tempfile::tempdir().unwrap();
    let url = "postgres://me:secret@127.0.0.1:1/d?password=secret";
    for output in ["table", "json"] {
        let mut command = program(home.path());
        command.args(["config", "show", "--output", output]).env("STEPWELL_STORE", url);
        let ended = run(&mut command).with_code(0);
        assert!(!ended.stdout.contains("secret"), "{}", ended.stdout);
        assert!(ended.stdout.contains("postgres://me:***@127.0.0.1:1/d"), "{}", ended.stdout);
    }
    let serve = ["serve", "--store", url, "--log-filter", "trace", "--data", "d"];
    let ended = run(program(home.path()).args(serve));
    assert_ne!(ended.code, Some(0));
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("secret"), "{}", ended.stderr);
}
