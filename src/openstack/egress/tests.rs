use std::collections::HashMap;

use super::*;

/// URLs whose address is reserved: every range, and every way to write one.
const FORBIDDEN: &[&str] = &[
    // Each range, at an edge.
    "http://0.0.0.0/",
    "http://0.255.255.255/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://100.127.255.255/",
    "http://127.0.0.1/",
    "http://127.255.255.254/",
    "http://168.63.129.16/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://192.168.0.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::]/",
    "http://[::1]/",
    "http://[64:ff9b:1::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[2001:2::1]/",
    "http://[2001:10::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://[fe80::1]/",
    "http://[fe80::a9fe:a9fe]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[4000::1]/",
    // 127.0.0.1 and 169.254.169.254 by other spellings.
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://0x0/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0xA9.0xFE.0xA9.0xFE/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http:127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:///127.0.0.1/",
    "HTTP://127.0.0.1:80/",
    "http://127.0.0.1:65535/",
    // IPv6 addresses that stand for IPv4 ones.
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[::a9fe:a9fe]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    // A user or a fragment that looks like the host.
    "http://example.org@127.0.0.1/",
    "http://example.org:80@127.0.0.1/",
    "http://example.org%40@127.0.0.1/",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1?@example.org/",
    "http://127.0.0.1\\@example.org/",
    // Names.
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://api.localhost/",
    "http://metadata.google.internal/",
    "http://inner.example.org/",
    "http://inner6.example.org/",
    "http://mapped.example.org/",
    "http://scoped.example.org/",
    "http://ｌｏｃａｌｈｏｓｔ/",
];

/// What no URL can be read from, or leads by something else than HTTP.
const UNREADABLE: &[&str] = &[
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://127.0.0.1:99999/",
    "http://",
    "//127.0.0.1/",
    "file:///etc/passwd",
    "ftp://93.184.216.34/",
    "gopher://93.184.216.34/",
    "unix:///run/docker.sock",
    "data:text/plain,hello",
];

const REACHABLE: &[&str] = &[
    "http://93.184.216.34/",
    "https://1.1.1.1/x",
    "http://9.255.255.255/",
    "http://11.0.0.0/",
    "http://100.63.255.255/",
    "http://100.128.0.0/",
    "http://126.255.255.255/",
    "http://128.0.0.0/",
    "http://169.253.255.255/",
    "http://172.15.255.255/",
    "http://172.32.0.0/",
    "http://192.167.255.255/",
    "http://223.255.255.255/",
    "http://134744072/",
    "http://[2606:2800:220:1::1]/",
    "http://[::ffff:93.184.216.34]/",
    "http://[64:ff9b::93.184.216.34]/",
    "http://user:password@example.org/",
    "http://example.org:8080/",
    "http://mixed.example.org/",
];

struct Stub(HashMap<&'static str, Vec<&'static str>>);

#[async_trait]
impl Names for Stub {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let found = self.0.get(host.trim_end_matches('.')).cloned().unwrap_or_default();
        Ok(found.iter().map(|address| address.parse().unwrap()).collect())
    }
}

fn egress(allowed: &[&str]) -> Egress {
    let allowed: Vec<AllowedTarget> = allowed.iter().map(|it| it.parse().unwrap()).collect();
    let names = HashMap::from([
        ("localhost", vec!["127.0.0.1:0", "[::1]:0"]),
        ("api.localhost", vec!["127.0.0.1:0"]),
        ("metadata.google.internal", vec!["169.254.169.254:0"]),
        ("inner.example.org", vec!["10.1.2.3:0"]),
        ("inner6.example.org", vec!["[fd00::1]:0"]),
        ("mapped.example.org", vec!["[::ffff:10.1.2.3]:0"]),
        ("scoped.example.org", vec!["[fe80::1%2]:0"]),
        ("mixed.example.org", vec!["10.1.2.3:0", "93.184.216.34:0", "[::1]:0"]),
        ("example.org", vec!["93.184.216.34:0"]),
    ]);
    Egress::with_names(&allowed, Arc::new(Stub(names)))
}

/// The addresses that a call to a URL may connect to.
async fn reached(egress: &Egress, url: &str) -> Vec<IpAddr> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let guarded = Guarded::new(egress.clone(), Client::builder);
    if guarded.client(&url).is_err() {
        return Vec::new();
    }
    let judges = !egress.allows_host(&url);
    match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => {
            let resolver = Resolver { egress: egress.clone(), judges };
            let found = resolver.resolve(name.parse().unwrap()).await.unwrap();
            found.map(|address| address.ip()).collect()
        }
        None => Vec::new(),
    }
}

#[tokio::test]
async fn no_spelling_of_a_reserved_address_is_reached() {
    let closed = egress(&[]);
    for url in FORBIDDEN {
        assert!(Url::parse(url).is_ok(), "{url} is no URL");
        assert_eq!(reached(&closed, url).await, Vec::<IpAddr>::new(), "{url}");
    }
    for url in UNREADABLE {
        assert_eq!(reached(&closed, url).await, Vec::<IpAddr>::new(), "{url}");
    }
    assert!(FORBIDDEN.len() + UNREADABLE.len() >= 60);
}

#[tokio::test]
async fn the_rest_of_the_internet_is_reached_and_of_a_name_only_that() {
    let closed = egress(&[]);
    for url in REACHABLE {
        assert_eq!(reached(&closed, url).await.len(), 1, "{url}");
    }
    let public: IpAddr = "93.184.216.34".parse().unwrap();
    assert_eq!(reached(&closed, "http://mixed.example.org/").await, [public]);
}

#[tokio::test]
async fn an_operator_opens_a_network_a_host_or_a_port_of_it_and_nothing_beside() {
    for (allowed, opened, closed) in [
        ("127.0.0.0/8", "http://2130706433:80/", "http://[::1]/"),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/", "http://[2002:7f00:1::]/"),
        ("127.0.0.0/8", "http://api.localhost/", "http://inner.example.org/"),
        ("::1", "http://[::1]/", "http://127.0.0.1/"),
        ("10.1.2.0/24", "http://inner.example.org/", "http://10.1.3.1/"),
        ("10.1.2.0/24", "http://mapped.example.org/", "http://inner6.example.org/"),
        ("inner.example.org", "http://INNER.example.org:81/", "http://10.1.2.3/"),
        ("inner.example.org:81", "http://inner.example.org.:81/", "http://inner.example.org/"),
        ("inner.example.org:443", "https://inner.example.org/", "http://inner.example.org/"),
        ("10.1.2.3:81", "http://10.1.2.3:81/", "http://10.1.2.3:82/"),
        ("[fd00::1]:81", "http://[fd00::1]:81/", "http://[fd00::1]/"),
        ("inner.example.org", "http://a@inner.example.org/", "http://inner.example.org@10.1.2.3/"),
    ] {
        let egress = egress(&[allowed]);
        assert_eq!(reached(&egress, opened).await.len(), 1, "{allowed} opens {opened}");
        assert!(reached(&egress, closed).await.is_empty(), "{allowed} opens {closed}");
    }
}
