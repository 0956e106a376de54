//! URLs that try to get inside, and those that look bad but are not.

use stepwell_connectors::egress::{Egress, Policy};

/// As generous as a policy can be without allowing the inside: any host, both schemes.
fn generous() -> Egress {
    let policy = Policy {
        allow_hosts: vec!["*".parse().unwrap()],
        allow_http: true,
        ports: vec![80, 443],
        ..Policy::default()
    };
    Egress::new(policy).unwrap()
}

const HOSTILE: &[&str] = &[
    // Loopback in every spelling of IPv4 that some parser takes.
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0177.1/",
    "http://017700000001/",
    "http://00000177.0x0.0.01/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127.0.0.1/",
    // Names of this machine.
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://LocalHost../",
    "http://api.localhost/",
    "http://%6cocalhost/",
    "http://ⓛocalhost/",
    // This host, private, shared and link-local networks; cloud metadata.
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://167772161/",
    "http://100.64.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://0251.0376.0251.0376/",
    "http://169.254.170.2/v2/credentials",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://3232235521/",
    "http://192.0.0.192/",
    "http://198.18.0.1/",
    // Documentation, multicast, reserved.
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    // The same over IPv6, and IPv4 hidden in it.
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2001::1]/",
    "http://[2001:db8::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[4000::1]/",
    // Somebody else's name before the host, or the host hidden behind one.
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://:password@example.com/",
    "https://example.com@127.0.0.1/",
    "https://example.com%2f@127.0.0.1/",
    "https://127.0.0.1#@example.com/",
    "https://127.0.0.1?@example.com/",
    r"https://127.0.0.1\@example.com/",
    r"https:\\127.0.0.1\",
    "https:127.0.0.1",
    "https:/127.0.0.1/",
    "https:///127.0.0.1/",
    // Other doors.
    "https://example.com:22/",
    "https://example.com:8443/",
    "https://example.com:6379/",
    "https://example.com:0/",
    "https://example.com:65536/",
    // Other schemes.
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com:6379/_FLUSHALL",
    "dict://example.com/",
    "ldap://example.com/",
    "ws://example.com/",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "blob:https://example.com/1",
    // No URLs, or URLs that read otherwise than they go.
    "",
    "/relative",
    "//example.com/",
    "example.com",
    "https://",
    "https://./",
    "https://exa mple.com/",
    " https://example.com/",
    "https://example.com/\r\nHost: inside",
    "https://127.0.\t0.1/",
    "https://exam\nple.com/",
    "https://[::1/",
    "https://256.256.256.256/",
    "https://1.2.3.4.5/",
];

// X-141: a client's callback URL never leads inside.
#[test]
fn no_hostile_url_passes_the_check() {
    let egress = generous();
    let passed: Vec<_> = HOSTILE.iter().filter(|url| egress.check(url).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert!(HOSTILE.len() >= 60);
}

#[test]
fn honest_urls_pass_the_check() {
    let honest = [
        "https://example.com/hooks?id=1",
        "https://EXAMPLE.com:443/",
        "https://example.com./",
        "http://example.com/",
        "https://bücher.example/",
        "https://1.1.1.1/",
        "https://[2606:4700::1111]/",
        "https://example.com/path/@user",
        "https://127.0.0.1.example.com/",
    ];
    let egress = generous();
    for url in honest {
        egress.check(url).unwrap_or_else(|refusal| panic!("{url}: {refusal}"));
    }
}

#[test]
fn a_very_long_url_is_refused_with_its_beginning_only() {
    let url = format!("https://example.com/{}", "a".repeat(5_000));
    let refusal = generous().check(&url).unwrap_err().to_string();
    assert!(refusal.contains("longer than 2048") && refusal.len() < 300, "{refusal}");
}

#[test]
fn a_policy_allows_nothing_until_told_otherwise() {
    let egress = Egress::new(Policy::default()).unwrap();
    let refusal = egress.check("https://example.com/").unwrap_err().to_string();
    assert_eq!(refusal, "host 'example.com' is not allowed; ask an administrator to allow it");
    let refusal = egress.check("http://example.com/").unwrap_err().to_string();
    assert_eq!(refusal, "scheme 'http' is not allowed; use https");
}

#[test]
fn a_pattern_allows_the_hosts_it_names_and_no_others() {
    let allow_hosts = ["hooks.example.com", "*.example.org", "BÜCHER.example"];
    let allow_hosts = allow_hosts.map(|pattern| pattern.parse().unwrap()).to_vec();
    let egress = Egress::new(Policy { allow_hosts, ..Policy::default() }).unwrap();
    for host in ["hooks.example.com", "HOOKS.example.com.", "a.example.org", "bücher.example"] {
        assert!(egress.check(&format!("https://{host}/")).is_ok(), "{host}");
    }
    let strangers = [
        "example.com",
        "a.hooks.example.com",
        "hooks.example.com.evil.test",
        "example.org",
        "evilexample.org",
        ".example.org",
    ];
    for host in strangers {
        assert!(egress.check(&format!("https://{host}/")).is_err(), "{host}");
    }
}

#[test]
fn what_names_no_host_is_no_pattern() {
    use stepwell_connectors::egress::HostPattern;
    let not_hosts = [
        "",
        "*.",
        "a b",
        "https://a.test",
        "a.test/",
        "a.test:443",
        "[::1]:443",
        "u@a.test",
        "a.*.test",
    ];
    for text in not_hosts {
        assert!(text.parse::<HostPattern>().is_err(), "{text}");
    }
}

#[test]
fn a_denied_range_beats_an_allowed_one() {
    let policy = Policy {
        allow_hosts: vec!["*".parse().unwrap()],
        allow_private: vec!["10.0.0.0/8".parse().unwrap()],
        deny: vec!["10.0.0.5".parse().unwrap(), "1.1.1.1".parse().unwrap()],
        ..Policy::default()
    };
    let egress = Egress::new(policy).unwrap();
    assert!(egress.check("https://10.0.0.4/").is_ok());
    assert!(egress.check("https://10.0.0.5/").is_err());
    assert!(egress.check("https://1.1.1.1/").is_err());
}
