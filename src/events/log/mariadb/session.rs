//! One connection to a server that is up, of the cluster, and may be written, and what its errors
//! mean. Around every statement runs a timer, for a node that hangs answers nothing at all.

use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error, Params, Row};

use super::address::Address;

/// How long a server may take to let a client in, the longer the more rounds of the hosts were in
/// vain in which one was slow. After the longest comes the shortest: a host that answers nothing at
/// all is not to hold up for ever who would find the next one.
const CONNECT_MAX: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// For how long a host that let nobody in is tried after the others.
const SHUNNED_FOR: Duration = Duration::from_secs(10);
/// How long a statement may take where nothing else is said. A cluster that lost a node answers
/// again after six seconds; whoever gave up before tries at another node.
pub(super) const STATEMENT_MAX: Duration = Duration::from_secs(3);
/// How long a cluster may be silent on a look at first: one that it was asked while it lost a node
/// may never be answered, and nobody is to wait for it after the cluster goes on.
const LOOK_MAX: Duration = Duration::from_millis(800);
/// After how many tries a look, too, gets more time: the cluster is slow.
const IMPATIENT: u32 = 12;
/// The longest that a statement may take, where others have taken too long.
pub(super) const TIMER_MAX: Duration = Duration::from_secs(30);
/// What each connection is told. Whatever is read is at least as new as what was acknowledged
/// anywhere; a server without Galera does not know that variable.
const SETUP: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
const SETUP_LOCKS: &str = "SET SESSION innodb_lock_wait_timeout = 5, \
                           sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, \
                           completion_type = 'NO_CHAIN'";
/// What the connection is told besides that the log is written on, where something is said every
/// three seconds: a server that does not hear that its client has gone ends the transaction with it.
const SETUP_WRITER: &str = "SET SESSION wait_timeout = 30";
const SETUP_CLUSTER: &str = "SET SESSION wsrep_sync_wait = 1";
const WITHOUT_WAITS: &str = "SET SESSION wsrep_sync_wait = 0";

/// Deadlock, which is also how a cluster refuses a transaction.
const TRY_AGAIN: u16 = 1213;
/// What a server says of the statement itself, or of its room and what the user may do: a full disk
/// or table, too much at once, no such table or column, values that do not fit, two of the same, a
/// binary log of statements, no right, what a trigger says. Whatever else a server or a proxy before
/// it says is a state that passes, or that another server is not in.
const REFUSED: [u16; 22] = [
    1021, 1048, 1054, 1062, 1064, 1114, 1118, 1136, 1142, 1143, 1146, 1153, 1197, 1227, 1264, 1292,
    1364, 1366, 1406, 1644, 1665, 1690,
];

/// Why a statement was not answered as it should.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing of the transaction was written; the same again may succeed at once.
    Again,
    /// What became of it is not known, or this server cannot do it: another connection.
    Elsewhere(String),
    /// The server refuses what it was asked, and would again.
    Refused(String),
}

impl Failure {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Again => "it is busy".to_owned(),
            Self::Elsewhere(reason) | Self::Refused(reason) => reason,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Server(error) if error.code == TRY_AGAIN => Self::Again,
            Error::Server(error) => {
                // The message may repeat a value out of a statement, and is left out.
                let reason = format!("the server refused it (error {})", error.code);
                match REFUSED.contains(&error.code) {
                    true => Self::Refused(reason),
                    false => Self::Elsewhere(reason),
                }
            }
            Error::Io(error) => Self::Elsewhere(format!("the connection failed: {error}")),
            Error::Driver(_) => Self::Elsewhere("the connection was lost".to_owned()),
            Error::Url(_) | Error::Other(_) => Self::Elsewhere("the client failed".to_owned()),
        }
    }
}

/// How long a look at a cluster may be silent, of which so many were given up.
pub(super) fn look_max(tries: u32) -> Duration {
    match tries.checked_sub(IMPATIENT) {
        None => LOOK_MAX,
        Some(tries) => change_max(tries),
    }
}

/// How long a change may take, of which so many were given up.
fn change_max(tries: u32) -> Duration {
    STATEMENT_MAX.saturating_mul(tries.saturating_add(1)).min(TIMER_MAX)
}

/// How many looks and changes were not answered in time, of one thing that is to be done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GivenUp {
    looks: u32,
    changes: u32,
}

/// A connection that is fit for use.
pub(super) struct Session {
    conn: Conn,
    pub(super) given_up: GivenUp,
    /// How long a look may be silent, and a change may take.
    looks: Duration,
    changes: Duration,
    is_of_cluster: bool,
    /// When it was last found out to be fit.
    checked: Instant,
    /// Whether each look waits until the server has what was acknowledged at any other.
    waits: bool,
}

/// How long a server that stands alone is believed to be the one that is written.
const CHECKED_EVERY: Duration = Duration::from_secs(5);
/// What a server has to take at once: a statement with a row of the largest kind, several times.
const PACKET_MIN: u64 = 16 << 20;
/// What a server is asked of itself.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
                        ('wsrep_on', 'wsrep_provider', 'read_only', 'max_allowed_packet', \
                        'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog')";

/// Once is enough for a process.
static WARNED: Once = Once::new();

/// How a server is set, by name.
struct Settings(Vec<(String, String)>);

impl Settings {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// Newer servers have several kinds of it.
    fn is_read_only(&self) -> bool {
        self.get("read_only").is_some_and(|value| value != "OFF")
    }

    /// Whether the server is of a cluster. In Percona XtraDB Cluster 8 `wsrep_on` is a session's alone.
    fn is_of_cluster(&self) -> bool {
        let has_provider =
            self.get("wsrep_provider").is_some_and(|it| !it.is_empty() && it != "none");
        has_provider && !self.is("wsrep_on", "OFF")
    }

    /// The setting by which a server that alone keeps the log forgets what it has confirmed. The
    /// servers of a cluster have it from one another.
    fn forgetful(&self) -> Option<&'static str> {
        let is_other = |name, wanted| self.get(name).is_some_and(|value| value != wanted);
        if self.is_of_cluster() {
            None
        } else if is_other("innodb_flush_log_at_trx_commit", "1") {
            Some("innodb_flush_log_at_trx_commit is not 1")
        } else if self.is("log_bin", "ON") && is_other("sync_binlog", "1") {
            Some("sync_binlog is not 1")
        } else {
            None
        }
    }
}

fn read_only() -> Failure {
    Failure::Elsewhere("it is read-only".to_owned())
}

impl Session {
    /// Connects to one of the hosts. Errors: `Elsewhere` where it is not fit, too.
    async fn open(
        address: &Address,
        host: usize,
        timer: Duration,
        given_up: &mut u32,
    ) -> Result<Self, Failure> {
        let at = |failure: Failure| {
            Failure::Elsewhere(format!("{}: {}", address.host(host), failure.reason()))
        };
        super::super::choose_cryptography();
        let connecting = Conn::new(address.options(host));
        let conn = timed(timer, given_up, connecting).await.map_err(at)?;
        let mut session = Self {
            conn,
            given_up: GivenUp::default(),
            looks: STATEMENT_MAX,
            changes: STATEMENT_MAX,
            is_of_cluster: false,
            checked: Instant::now(),
            waits: false,
        };
        session.check().await.map_err(at)?;
        Ok(session)
    }

    async fn check(&mut self) -> Result<(), Failure> {
        let set = Settings(self.ask(SETTINGS, ()).await?);
        if set.is_read_only() {
            return Err(read_only());
        }
        let packet = set.get("max_allowed_packet").and_then(|value| value.parse::<u64>().ok());
        if packet.is_some_and(|packet| packet < PACKET_MIN) {
            let reason = format!("its max_allowed_packet is less than {} MiB", PACKET_MIN >> 20);
            return Err(Failure::Elsewhere(reason));
        }
        if let Some(setting) = set.forgetful() {
            WARNED.call_once(|| {
                tracing::warn!(
                    setting,
                    "the database's server may lose what it has confirmed when its power fails"
                );
            });
        }
        if set.is_of_cluster() {
            let ready: Vec<(String, String)> =
                self.ask("SHOW GLOBAL STATUS LIKE 'wsrep_ready'", ()).await?;
            if ready.first().is_none_or(|(_, value)| value != "ON") {
                return Err(Failure::Elsewhere("it is not of the cluster now".to_owned()));
            }
            self.run(SETUP_CLUSTER).await?;
            (self.is_of_cluster, self.waits) = (true, true);
        }
        self.run(SETUP).await?;
        self.run(SETUP_LOCKS).await
    }

    /// Gives each statement the time from now on that it has where so many were given up. A server
    /// that stands alone forgets no look, and may be slow at once.
    pub(super) fn limit(&mut self, given_up: GivenUp) {
        self.given_up = given_up;
        self.changes = change_max(given_up.changes);
        self.looks = match self.is_of_cluster {
            true => look_max(given_up.looks),
            false => change_max(given_up.looks),
        };
    }

    /// Asks again now and then whether the server is written still: one that another has taken the
    /// place of keeps its connections, and reads what is old. Errors: `Elsewhere` where it is not.
    pub(super) async fn stay_fit(&mut self) -> Result<(), Failure> {
        if self.is_of_cluster || self.checked.elapsed() < CHECKED_EVERY {
            return Ok(());
        }
        let sql = "SHOW GLOBAL VARIABLES LIKE 'read_only'";
        let set = Settings(self.ask(sql, ()).await?);
        self.checked = Instant::now();
        if set.is_read_only() { Err(read_only()) } else { Ok(()) }
    }

    /// Gives each statement the longest time from now on, for one that goes over much.
    pub(super) fn be_patient(&mut self) {
        (self.looks, self.changes) = (TIMER_MAX, TIMER_MAX);
    }

    /// For one who alone writes: has the server come to all that was acknowledged, once. What is
    /// written after that is written here, so that later looks need not wait for the others.
    pub(super) async fn catch_up(&mut self) -> Result<(), Failure> {
        if self.waits {
            self.ask_one::<u64>("SELECT turn FROM sequencer WHERE id = 0", ()).await?;
            self.run(WITHOUT_WAITS).await?;
            self.waits = false;
        }
        Ok(())
    }

    /// Rows. The timer runs for each anew: what is long is not given up while it comes.
    pub(super) async fn ask<R: FromRow + Send + 'static>(
        &mut self,
        sql: &str,
        params: impl Into<Params> + Send,
    ) -> Result<Vec<R>, Failure> {
        let unfit = |_| Failure::Refused("a row is not as it should be".to_owned());
        let mut rows = Vec::new();
        let mut answer =
            timed(self.looks, &mut self.given_up.looks, self.conn.exec_iter(sql, params)).await?;
        let Some(mut coming) = answer.stream::<Row>().await? else { return Ok(rows) };
        while let Some(row) = timed(self.looks, &mut self.given_up.looks, coming.try_next()).await?
        {
            rows.push(R::from_row_opt(row).map_err(unfit)?);
        }
        Ok(rows)
    }

    /// One row, if there is one.
    pub(super) async fn ask_one<R: FromRow + Send + 'static>(
        &mut self,
        sql: &str,
        params: impl Into<Params> + Send,
    ) -> Result<Option<R>, Failure> {
        timed(self.looks, &mut self.given_up.looks, self.conn.exec_first(sql, params)).await
    }

    /// Changes something; how many rows were found.
    pub(super) async fn change(
        &mut self,
        sql: &str,
        params: impl Into<Params> + Send,
    ) -> Result<u64, Failure> {
        timed(self.changes, &mut self.given_up.changes, self.conn.exec_drop(sql, params)).await?;
        Ok(self.conn.affected_rows())
    }

    /// Begins a transaction, which a cluster takes for a look where looks wait.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        timed(self.looks, &mut self.given_up.looks, self.conn.query_drop("START TRANSACTION")).await
    }

    /// A statement without values or answers.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        timed(self.changes, &mut self.given_up.changes, self.conn.query_drop(sql)).await
    }
}

/// Counts what is given up.
async fn timed<T>(
    timer: Duration,
    given_up: &mut u32,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(timer, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => {
            *given_up += 1;
            Err(Failure::Elsewhere(format!("no answer within {timer:?}")))
        }
    }
}

/// Finds the first host that is fit, and after a failure the next one.
pub(super) struct Line {
    address: Arc<Address>,
    host: usize,
    session: Option<Session>,
    writes: bool,
    /// How many rounds of the hosts were in vain in which one was slow.
    rounds: usize,
    /// When each host last let nobody in.
    shut: Vec<Option<Instant>>,
}

impl Line {
    pub(super) fn new(address: Arc<Address>) -> Self {
        let shut = vec![None; address.hosts()];
        Self { address, host: 0, session: None, writes: false, rounds: 0, shut }
    }

    /// One that a log is written on.
    pub(super) fn to_write(address: Arc<Address>) -> Self {
        Self { writes: true, ..Self::new(address) }
    }

    /// The connection, made where there is none. Each host is tried once.
    pub(super) async fn session(&mut self) -> Result<&mut Session, Failure> {
        if self.session.is_none() {
            let mut session = self.connect().await?;
            if self.writes {
                session.run(SETUP_WRITER).await?;
            }
            self.session = Some(session);
        }
        match &mut self.session {
            Some(session) => Ok(session),
            None => Err(Failure::Elsewhere("there is no connection".to_owned())),
        }
    }

    async fn connect(&mut self) -> Result<Session, Failure> {
        let mut last = Failure::Elsewhere("there is no host".to_owned());
        let timer = CONNECT_MAX[self.rounds % CONNECT_MAX.len()];
        let mut given_up = 0;
        for host in self.in_turn() {
            self.host = host;
            match Session::open(&self.address, host, timer, &mut given_up).await {
                Ok(session) => {
                    (self.rounds, self.shut[host]) = (0, None);
                    return Ok(session);
                }
                Err(failure) => last = failure,
            }
            self.shut[host] = Some(Instant::now());
        }
        self.rounds += usize::from(given_up > 0);
        Err(last)
    }

    /// The hosts from the one whose turn it is on, those last that let nobody in just now.
    fn in_turn(&self) -> Vec<usize> {
        let count = self.address.hosts();
        let mut hosts: Vec<usize> = (0..count).map(|next| (self.host + next) % count).collect();
        hosts.sort_by_key(|&host| self.shut[host].is_some_and(|at| at.elapsed() < SHUNNED_FOR));
        hosts
    }

    /// Gives the connection up, whatever is under way on it; the next one is to another host.
    pub(super) fn drop_session(&mut self) {
        self.session = None;
        self.host = (self.host + 1) % self.address.hosts();
    }
}

#[cfg(test)]
mod tests {
    use mysql_async::ServerError;

    use super::*;

    const PROVIDER: (&str, &str) = ("wsrep_provider", "/usr/lib/galera/libgalera_smm.so");

    fn settings(set: &[(&str, &str)]) -> Settings {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings(set.collect())
    }

    fn failure(code: u16) -> Failure {
        let (message, state) = ("it may repeat a value".to_owned(), "HY000".to_owned());
        Failure::from(Error::Server(ServerError { code, message, state }))
    }

    #[test]
    fn a_cluster_is_known_by_its_provider_whether_or_not_it_says_that_it_is_on() {
        let is_of_cluster = |set: &[_]| settings(set).is_of_cluster();
        assert!(is_of_cluster(&[PROVIDER, ("wsrep_on", "ON")]), "MariaDB");
        assert!(is_of_cluster(&[PROVIDER]), "Percona XtraDB Cluster 8");
        assert!(!is_of_cluster(&[("wsrep_provider", "none"), ("wsrep_on", "OFF")]), "one server");
        assert!(!is_of_cluster(&[PROVIDER, ("wsrep_on", "OFF")]), "one that left its cluster");
        assert!(!is_of_cluster(&[]), "MySQL");
    }

    #[test]
    fn a_server_is_read_only_in_whichever_way_it_says_so() {
        let is_read_only = |value| settings(&[("read_only", value)]).is_read_only();
        assert!(["ON", "NO_LOCK"].map(is_read_only).iter().all(|it| *it));
        assert!(!is_read_only("OFF") && !settings(&[]).is_read_only());
    }

    #[test]
    fn a_server_alone_that_may_forget_what_it_confirmed_is_told_by_its_settings() {
        let flushes = |value| ("innodb_flush_log_at_trx_commit", value);
        let forgetful = |set: &[_]| settings(set).forgetful();
        let by_default = [flushes("1"), ("log_bin", "OFF"), ("sync_binlog", "0")];
        assert_eq!(forgetful(&by_default), None, "MariaDB's own defaults");
        assert_eq!(forgetful(&[flushes("2")]), Some("innodb_flush_log_at_trx_commit is not 1"));
        let logged = [flushes("1"), ("log_bin", "ON"), ("sync_binlog", "0")];
        assert_eq!(forgetful(&logged), Some("sync_binlog is not 1"));
        assert_eq!(forgetful(&[flushes("2"), PROVIDER]), None);
    }

    #[test]
    fn hosts_that_let_nobody_in_just_now_are_tried_after_the_others() {
        let address = Address::parse("mysql://hearth@a,b,c/hearth").unwrap();
        let mut line = Line::new(Arc::new(address));
        line.drop_session();
        assert_eq!(line.in_turn(), [1, 2, 0]);
        line.shut[1] = Some(Instant::now());
        assert_eq!(line.in_turn(), [2, 0, 1]);
        line.shut[2] = Instant::now().checked_sub(SHUNNED_FOR);
        assert_eq!(line.in_turn(), [2, 0, 1], "that is long ago");
    }

    #[tokio::test]
    async fn a_host_that_is_slow_to_let_in_has_more_time_in_the_next_round() {
        // It takes connections and says nothing.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("mysql://hearth@{}/hearth", silent.local_addr().unwrap());
        let mut line = Line::new(Arc::new(Address::parse(&address).unwrap()));
        assert!(line.session().await.is_err());
        assert_eq!(line.rounds, 1);
        drop(silent);
        assert!(line.session().await.is_err());
        assert_eq!(line.rounds, 1, "one that refuses is not slow");
    }

    #[test]
    fn a_look_gets_more_time_once_many_were_given_up() {
        assert_eq!([0, IMPATIENT - 1].map(look_max), [LOOK_MAX; 2]);
        assert_eq!(look_max(IMPATIENT), STATEMENT_MAX);
        assert_eq!(look_max(IMPATIENT + 2), STATEMENT_MAX * 3);
        assert_eq!([look_max(u32::MAX), change_max(u32::MAX)], [TIMER_MAX; 2]);
    }

    #[test]
    fn what_passes_is_asked_again_elsewhere_and_a_full_disk_is_a_no() {
        assert!(matches!(failure(1213), Failure::Again));
        // Of a cluster that was lost in a commit, a lock that another client holds, statements that
        // took too long, group replication, and ProxySQL without a server.
        for code in [1047, 1180, 1181, 1205, 1969, 3024, 3101, 9001] {
            assert!(matches!(failure(code), Failure::Elsewhere(_)), "{code}");
        }
        let Failure::Refused(reason) = failure(1114) else { panic!("it is tried for ever") };
        assert_eq!(reason, "the server refused it (error 1114)");
    }
}
