//! A database of a test's own, on the server or cluster that the environment names.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hearth::events::log::Address;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts};

/// Names the server.
pub(crate) const VARIABLE: &str = "HEARTH_TEST_MARIADB";

/// Of each user that a test makes.
pub(crate) const PASSWORD: &str = "sesame";
const OPERATING: &str = include_str!("../../docs/operating.md");

/// How often a row is changed at each server where somebody contends for it.
const CONTENDED: usize = 20;

/// What changes a table's or database's shape is refused with it while any server is locked.
const PAUSED: u16 = 1047;
/// How often such a change is tried, and how long after one another.
const PAUSES: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A database, dropped with it.
pub(crate) struct Database {
    name: String,
    /// Of the server, up to the database's name.
    server: String,
}

impl Database {
    pub(crate) fn fresh() -> Self {
        let database = Self::named();
        database.administer(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Made as the documents have an operator make it, with a user who has its name.
    pub(crate) fn documented() -> Self {
        let database = Self::named();
        let name = &database.name;
        let (_, sql) = OPERATING.split_once("```sql\n").unwrap();
        let (sql, _) = sql.split_once("```").unwrap();
        let sql = sql.replace("hearth", name).replace("PASSWORD", PASSWORD);
        assert_eq!(sql.matches(name).count(), 4, "{sql}");
        for statement in sql.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            database.administer(statement);
        }
        database
    }

    fn named() -> Self {
        let server = std::env::var_os(VARIABLE)
            .unwrap_or_else(|| panic!("{VARIABLE} says where a database may be made"));
        let (server, _) = server.to_str().unwrap().rsplit_once('/').unwrap();
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("hearth_{}_{count}", std::process::id());
        Self { name, server: server.to_owned() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// As a user may read it.
    pub(crate) fn url_of(&self, user: &str) -> String {
        let (_, hosts) = self.server.rsplit_once('@').unwrap();
        format!("mysql://{user}:{PASSWORD}@{hosts}/{}", self.name)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    pub(crate) fn address(&self) -> Address {
        Address::parse(&self.url()).unwrap()
    }

    /// Where its first server is.
    pub(crate) fn first(&self) -> &str {
        let (_, hosts) = self.server.rsplit_once('@').unwrap();
        hosts.split(',').next().unwrap()
    }

    /// By another address of its server.
    pub(crate) fn url_by(&self, address: SocketAddr) -> String {
        let (login, _) = self.server.rsplit_once('@').unwrap();
        format!("{login}@{address}/{}", self.name)
    }

    /// The same, its last server first.
    pub(crate) fn address_of_the_last(&self) -> Address {
        let (login, hosts) = self.server.rsplit_once('@').unwrap();
        let mut hosts: Vec<&str> = hosts.split(',').collect();
        hosts.reverse();
        Address::parse(&format!("{login}@{}/{}", hosts.join(","), self.name)).unwrap()
    }

    /// Ends the connections of all who are in it, in the midst of whatever they do.
    pub(crate) fn cut_off_clients(&self) {
        for host in self.hosts() {
            let name = self.name.clone();
            aside(async move {
                let mut conn = Conn::new(Opts::from_url(&host).unwrap()).await.unwrap();
                let sql = "SELECT id FROM information_schema.processlist WHERE db = ?";
                let ids: Vec<u64> = conn.exec(sql, (name,)).await.unwrap();
                for id in ids {
                    // It may have ended by itself.
                    let _ = conn.query_drop(format!("KILL CONNECTION {id}")).await;
                }
            });
        }
    }

    /// Changes a table's only row at each server in turn for a while, so that who changes it, too, is
    /// now and then refused.
    pub(crate) fn contend(&self, table: &str, change: &str) {
        let sql = format!("UPDATE {}.{table} SET {change}", self.name);
        let hosts = self.hosts();
        std::thread::spawn(move || {
            aside(async move {
                for host in hosts {
                    let mut conn = Conn::new(Opts::from_url(&host).unwrap()).await.unwrap();
                    for _ in 0..CONTENDED {
                        // It is the one that is refused now and then.
                        let _ = conn.query_drop(&sql).await;
                    }
                }
            });
        });
    }

    /// No server writes anything for so long; returns at once.
    pub(crate) fn silence(&self, time: Duration) {
        for host in self.hosts() {
            std::thread::spawn(move || {
                aside(async move {
                    let mut conn = Conn::new(Opts::from_url(&host).unwrap()).await.unwrap();
                    conn.query_drop("FLUSH TABLES WITH READ LOCK").await.unwrap();
                    tokio::time::sleep(time).await;
                    conn.query_drop("UNLOCK TABLES").await.unwrap();
                });
            });
        }
    }

    /// How an administrator's tools reach the first server, in their own file of settings.
    pub(crate) fn client_settings(&self) -> String {
        let opts = Opts::from_url(&self.hosts()[0]).unwrap();
        let (host, port) = (opts.ip_or_hostname(), opts.tcp_port());
        let (user, password) = (opts.user().unwrap_or(""), opts.pass().unwrap_or(""));
        format!("[client]\nhost = {host}\nport = {port}\nuser = {user}\npassword = {password}\n")
    }

    /// Each server, as an administrator reaches it.
    fn hosts(&self) -> Vec<String> {
        let (login, hosts) = self.server.rsplit_once('@').unwrap();
        hosts.split(',').map(|host| format!("{login}@{host}/mysql")).collect()
    }

    /// Does something beside it.
    pub(crate) fn administer(&self, sql: &str) {
        self.ask("mysql", sql);
    }

    /// Tells one of the servers something that holds until what is returned is dropped.
    pub(crate) fn tell(&self, server: usize, sql: &str, undo: &str) -> Told {
        let (login, hosts) = self.server.rsplit_once('@').unwrap();
        let url = format!("{login}@{}/mysql", hosts.split(',').nth(server).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let conn = runtime.block_on(async {
            let mut conn = Conn::new(Opts::from_url(&url).unwrap()).await.unwrap();
            conn.query_drop(sql).await.unwrap();
            conn
        });
        Told { runtime, conn, undo: undo.to_owned() }
    }

    /// Does something in the database.
    pub(crate) fn run(&self, sql: &str) {
        self.ask(&self.name, sql);
    }

    /// Asks the first host that answers, on a thread of its own, for tests run within a runtime.
    fn ask(&self, database: &str, sql: &str) {
        let urls: Vec<String> = self
            .hosts()
            .iter()
            .map(|host| host.replace("/mysql", &format!("/{database}")))
            .collect();
        aside(async {
            let mut last = None;
            for _ in 0..PAUSES {
                for url in &urls {
                    let asked = match Conn::new(Opts::from_url(url).unwrap()).await {
                        Ok(mut conn) => conn.query_drop(sql).await,
                        Err(error) => Err(error),
                    };
                    match asked {
                        Ok(()) => return,
                        // It was refused as a whole: another test holds the servers' locks.
                        Err(Error::Server(error)) if error.code == PAUSED => {
                            last = Some(Error::Server(error));
                            break;
                        }
                        Err(Error::Server(error)) => panic!("{sql}: {error:?}"),
                        Err(error) => last = Some(error),
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
            panic!("no server does {sql}: {last:?}");
        });
    }
}

/// Does something on a thread of its own, for tests run within a runtime.
fn aside<T: Send>(done: impl Future<Output = T> + Send) -> T {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(done)
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.administer(&format!("DROP DATABASE {}", self.name));
            self.administer(&format!("DROP USER IF EXISTS '{}'@'%'", self.name));
        }
    }
}

/// What a server was told.
pub(crate) struct Told {
    runtime: tokio::runtime::Runtime,
    conn: Conn,
    undo: String,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.runtime.block_on(self.conn.query_drop(&self.undo)).unwrap();
    }
}
