use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::openstack::egress::Names;

const SIZE_MAX: usize = 1000;
const TIME_MAX: Duration = Duration::from_secs(3);
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// Nothing in these tests allows it.
const INSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A server that answers every request with the same bytes.
struct Server {
    at: SocketAddr,
    /// The heads of the requests.
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
enum Reply {
    Bytes(Vec<u8>),
    /// A byte from time to time, for ever.
    Drip,
    Endless,
    /// Takes the connection and says nothing.
    Silence,
}

impl Server {
    async fn start(at: (Ipv4Addr, u16), reply: Reply) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let server = Self { at: listener.local_addr().unwrap(), asked: Arc::clone(&asked) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, reply.clone(), Arc::clone(&asked)));
            }
        });
        server
    }

    fn url(&self) -> String {
        format!("http://{}/", self.at)
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn answer(
    mut stream: TcpStream,
    reply: Reply,
    asked: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    asked.lock().unwrap().push(String::from_utf8_lossy(&head).to_lowercase());
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    match reply {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await,
        Reply::Silence => std::future::pending().await,
        Reply::Drip => {
            stream.write_all(HEAD).await?;
            loop {
                stream.write_all(b"x").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Reply::Endless => {
            stream.write_all(HEAD).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
    }
}

fn text(text: &str) -> Reply {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
    Reply::Bytes(format!("{head}{text}").into_bytes())
}

fn redirect(to: &str) -> Reply {
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    Reply::Bytes(head.into_bytes())
}

fn fetcher(allowed: &str) -> Fetcher {
    Fetcher::new(SIZE_MAX, TIME_MAX, &[allowed.parse().unwrap()])
}

async fn get(fetcher: &Fetcher, url: &str) -> Result<String, String> {
    fetcher.get(&FetchBudget::default(), url).await
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_a_url_may_not() {
    let inside = Server::start((INSIDE, 0), text("secret")).await;
    let port = inside.at.port();
    for to in [
        inside.url(),
        format!("http://0x7f.0.0.2:{port}/"),
        format!("//2130706434:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        "file:///etc/passwd".to_owned(),
        "http://".to_owned(),
    ] {
        let outside = Server::start((HERE, 0), redirect(&to)).await;
        let refused = get(&fetcher("127.0.0.1"), &outside.url()).await;
        assert_eq!(refused, Err(not_fetched(&outside.url())), "{to}");
        assert_eq!((outside.asked(), inside.asked()), (1, 0), "{to}");
    }
    let outside = Server::start((HERE, 0), redirect(&inside.url())).await;
    assert_eq!(get(&fetcher("127.0.0.0/8"), &outside.url()).await.as_deref(), Ok("secret"));
}

#[tokio::test]
async fn redirects_are_followed_five_times_and_take_no_credentials_along() {
    let end = Server::start((INSIDE, 0), text("here")).await;
    let mut url = end.url();
    let all = fetcher("127.0.0.0/8");
    for followed in 1..=FETCH_REDIRECTS_MAX + 1 {
        let before = Server::start((HERE, 0), redirect(&url)).await;
        url = before.url();
        let with_user = url.replace("http://", "http://user:password@");
        let fetched = get(&all, &with_user).await;
        assert_eq!(fetched.is_ok(), followed <= FETCH_REDIRECTS_MAX, "{followed}");
        assert!(before.asked.lock().unwrap()[0].contains("authorization: basic"));
    }
    let heads = end.asked.lock().unwrap();
    assert_eq!(heads.len(), FETCH_REDIRECTS_MAX);
    for head in &*heads {
        assert!(!head.contains("authorization") && !head.contains("referer"), "{head}");
    }
}

/// A name whose address is another one each time.
struct Rebinding(Mutex<Vec<Ipv4Addr>>);

#[async_trait]
impl Names for Rebinding {
    async fn addresses(&self, _host: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(self.0.lock().unwrap().pop().map(|address| (address, 0).into()).into_iter().collect())
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_connected_to_where_it_was_judged() {
    let outside = Server::start((HERE, 0), text("outside")).await;
    let inside = Server::start((INSIDE, outside.at.port()), text("secret")).await;
    let names = Arc::new(Rebinding(Mutex::new(vec![INSIDE, HERE])));
    let allowed = ["127.0.0.1".parse().unwrap()];
    let egress = Egress::with_names(&allowed, Arc::clone(&names) as Arc<dyn Names>);
    let fetcher = Fetcher::with_egress(SIZE_MAX, TIME_MAX, egress);
    let url = format!("http://rebind.example.org:{}/", outside.at.port());
    assert_eq!(get(&fetcher, &url).await.as_deref(), Ok("outside"));
    assert_eq!(names.0.lock().unwrap().len(), 1, "it was asked once");
    // A connection that stands was judged when it was made; a new one is judged again.
    drop(outside);
    let egress = Egress::with_names(&allowed, names);
    let fetcher = Fetcher::with_egress(SIZE_MAX, TIME_MAX, egress);
    assert_eq!(get(&fetcher, &url).await, Err(not_fetched(&url)));
    assert_eq!(inside.asked(), 0);
}

#[tokio::test]
async fn a_body_that_drips_takes_no_more_than_the_time_of_all_fetches() {
    let drip = Server::start((HERE, 0), Reply::Drip).await;
    let quick = Server::start((HERE, 0), text("quick")).await;
    let (fetcher, budget) = (fetcher("127.0.0.1"), FetchBudget::default());
    let began = Instant::now();
    assert_eq!(fetcher.get(&budget, &drip.url()).await, Err(not_fetched(&drip.url())));
    assert!(began.elapsed() < TIME_MAX * 5, "{:?}", began.elapsed());
    assert_eq!(fetcher.get(&budget, &quick.url()).await, Err(not_fetched(&quick.url())));
    assert_eq!(quick.asked(), 0, "the request has no time left");
    assert_eq!(get(&fetcher, &quick.url()).await.as_deref(), Ok("quick"), "another one has");
}

#[tokio::test]
async fn a_body_without_end_takes_no_more_than_the_bytes_of_all_fetches() {
    let endless = Server::start((HERE, 0), Reply::Endless).await;
    let small = fetcher("127.0.0.1");
    assert_eq!(get(&small, &endless.url()).await, Err(not_fetched(&endless.url())));

    let text = text(&"x".repeat(FETCHED_BYTES_MAX / 2 + 1));
    let large = Server::start((HERE, 0), text).await;
    let minute = Duration::from_secs(60);
    let fetcher = Fetcher::new(FETCHED_BYTES_MAX, minute, &["127.0.0.1".parse().unwrap()]);
    let budget = FetchBudget::default();
    assert!(fetcher.get(&budget, &large.url()).await.is_ok());
    assert_eq!(fetcher.get(&budget, &large.url()).await, Err(not_fetched(&large.url())));
}

#[tokio::test]
async fn a_request_makes_so_many_fetches_and_redirects_are_among_them() {
    let to = Server::start((HERE, 0), text("x")).await;
    let from = Server::start((HERE, 0), redirect(&to.url())).await;
    let minute = Duration::from_secs(60);
    let fetcher = Fetcher::new(SIZE_MAX, minute, &["127.0.0.1".parse().unwrap()]);
    let budget = FetchBudget::default();
    let mut fetched = 0;
    while fetcher.get(&budget, &from.url()).await.is_ok() {
        fetched += 1;
    }
    assert_eq!((fetched, budget.left()), (FETCHES_MAX / 2, 0));
}

#[tokio::test]
async fn what_is_packed_is_not_unpacked() {
    // gzip of a megabyte of zeros would begin so.
    let mut packed =
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 12\r\n\r\n".to_vec();
    packed.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xed, 0xc1]);
    let server = Server::start((HERE, 0), Reply::Bytes(packed)).await;
    assert_eq!(get(&fetcher("127.0.0.1"), &server.url()).await, Err(not_fetched(&server.url())));
    assert!(!server.asked.lock().unwrap()[0].contains("accept-encoding"));
}

#[tokio::test]
async fn an_error_is_the_same_whatever_there_is_at_the_url() {
    let of = |bytes: &[u8]| Reply::Bytes(bytes.to_vec());
    let mut urls = vec![
        "http://127.0.0.1:1/".to_owned(),
        "http://127.0.0.2:1/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://no-such-host.invalid/".to_owned(),
        "http://[fe80::1%25eth0]/".to_owned(),
        "http://256.256.256.256/".to_owned(),
    ];
    for reply in [
        of(b"SSH-2.0-OpenSSH_9.2\r\n"),
        of(b""),
        of(b"HTTP/1.1 404 Not Found\r\ncontent-length: 6\r\n\r\nsecret"),
        of(b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=secret\r\ncontent-length: 0\r\n\r\n"),
        of(b"HTTP/1.1 500 Secret\r\ncontent-length: 6\r\n\r\nsecret"),
        of(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe"),
        of(b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n"),
        of(b"HTTP/1.1 200 OK\r\ncontent-length: 600\r\n\r\nsecret"),
        Reply::Endless,
        Reply::Silence,
    ] {
        urls.push(Server::start((HERE, 0), reply).await.url());
    }
    for url in urls {
        let error = get(&fetcher("127.0.0.1"), &url).await.unwrap_err();
        assert_eq!(error, format!("Failed to retrieve template from {url}"));
    }
}
