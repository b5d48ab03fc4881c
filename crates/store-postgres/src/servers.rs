//! Which server connections lead to, of those that a URL names: of several that can be written, the newest. A process that has seen
//! one whose timeline is higher, as that of a promoted standby is, closes its connections to the one before, and never goes back.

use std::{
    cmp::Reverse,
    convert::Infallible,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, Either, Fuse, join_all, select},
    stream::{FuturesUnordered, poll_fn},
};
use store::StoreError;
use tokio::{task::AbortHandle, time::Instant};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Socket};

use crate::{
    chosen_server::Chosen,
    database_url::DatabaseUrl,
    error::store_error,
    same_chain::{Checked, Part, Refusal},
    tls::Encrypted,
};

/// How long another server may take to answer, once one has that can be used.
const OTHERS: Duration = Duration::from_secs(1);
/// How often the servers that are not used are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// A server that does not answer for this long is not there.
const ANSWER: Duration = Duration::from_secs(10);

/// A connection that was checked.
struct Open {
    server: usize,
    checked: Checked,
    client: Client,
    connection: Connection<Socket, Encrypted<Socket>>,
}

enum Failure {
    Unreachable(StoreError),
    Refused(StoreError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unreachable(error) | Failure::Refused(error) => error,
        }
    }
}

impl DatabaseUrl {
    /// Leads to the server that this process uses; to the newest that can be used, if that one does not accept the connection.
    pub(crate) async fn connect(&self) -> Result<(Client, ServerConnection), StoreError> {
        let before = self.choice.chosen.borrow().server;
        if let Some(server) = before {
            match self.open(server).await.and_then(|open| self.accept(open)) {
                Ok(connected) => return Ok(connected),
                Err(failure) if self.servers() == 1 => return Err(failure.into()),
                Err(_) => {}
            }
        }
        // Those who wait for it try again later.
        let turn = tokio::time::timeout(OTHERS * 3, self.choice.choosing.lock()).await;
        let _one_at_a_time = turn.map_err(|_| unavailable("no server of the database answers"))?;
        // Another connection may have found one meanwhile.
        let now = self.choice.chosen.borrow().server.filter(|now| Some(*now) != before);
        if let Some(server) = now
            && let Ok(connected) = self.open(server).await.and_then(|open| self.accept(open))
        {
            return Ok(connected);
        }
        Ok(self.open_newest().await.and_then(|open| self.accept(open))?)
    }

    async fn open_newest(&self) -> Result<Open, Failure> {
        let mut opening: FuturesUnordered<_> =
            (0..self.servers()).map(|server| async move { (server, self.open(server).await) }).collect();
        let mut found: Vec<Open> = Vec::new();
        let mut failure: Option<(usize, Failure)> = None;
        let mut deadline = None;
        loop {
            let next = match deadline {
                None => opening.next().await,
                Some(deadline) => tokio::time::timeout_at(deadline, opening.next()).await.unwrap_or(None),
            };
            match next {
                None => break,
                Some((_, Ok(open))) => {
                    deadline.get_or_insert_with(|| Instant::now() + OTHERS);
                    found.push(open);
                }
                // What is wrong with a server says more than that another one is not there.
                Some((server, Err(error))) => {
                    let is_worth_more = failure.as_ref().is_none_or(|(before, known)| match (known, &error) {
                        (Failure::Unreachable(_), Failure::Refused(_)) => true,
                        (Failure::Refused(_), Failure::Unreachable(_)) => false,
                        _ => server < *before,
                    });
                    if is_worth_more {
                        failure = Some((server, error));
                    }
                }
            }
        }
        match (newest(found), failure) {
            (Some(open), _) => Ok(open),
            (None, Some((_, failure))) => Err(failure),
            (None, None) => Err(Failure::Unreachable(unavailable("the URL names no server"))),
        }
    }

    fn accept(&self, open: Open) -> Result<(Client, ServerConnection), Failure> {
        let Open { server, checked: Checked { position, origin }, client, connection } = open;
        // A standby may be behind: whether it is read is decided later.
        let timeline = if self.check.part == Part::Database { position.timeline() } else { 0 };
        let mine = Chosen { server: Some(server), timeline, origin };
        let mut is_late = false;
        self.choice.chosen.send_if_modified(|chosen| {
            // Another connection has led to a newer server meanwhile.
            is_late = mine.timeline < chosen.timeline;
            let is_changed = !is_late && *chosen != mine;
            if is_changed {
                *chosen = mine;
            }
            is_changed
        });
        if is_late {
            return Err(Failure::Unreachable(unavailable("the server was replaced")));
        }
        if self.check.part == Part::Database {
            self.check.expected.note_seen(position);
        }
        let mut chosen = self.choice.chosen.subscribe();
        let superseded = async move {
            if chosen.wait_for(|now| *now != mine).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        Ok((client, ServerConnection { connection, superseded: superseded.boxed().fuse() }))
    }

    /// Connects to one of the servers, and checks it.
    async fn open(&self, server: usize) -> Result<Open, Failure> {
        let opened = tokio::time::timeout(ANSWER, self.open_unless_silent(server)).await;
        let opened = opened.unwrap_or_else(|_| Err(Failure::Unreachable(unavailable("the server does not answer"))));
        if opened.is_ok() || matches!(opened, Err(Failure::Unreachable(_))) {
            self.choice.outdated().remove(&server);
        }
        opened
    }

    async fn open_unless_silent(&self, server: usize) -> Result<Open, Failure> {
        let connected = single(&self.config, server).connect(self.tls.clone()).await;
        let (client, mut connection) = connected.map_err(|error| Failure::Unreachable(store_error(error)))?;
        let checked = {
            // A query is answered only while messages are received.
            let messages = poll_fn(|context| connection.poll_message(context));
            let ended = async {
                let mut messages = pin!(messages);
                while let Some(message) = messages.next().await {
                    message.map_err(store_error)?;
                }
                Err::<Infallible, _>(unavailable("the server closed the connection"))
            };
            match select(pin!(self.check.check(&client)), pin!(ended)).await {
                Either::Left((checked, _)) => checked,
                Either::Right((Err(error), _)) => Err(Refusal::Failed(error)),
            }
        };
        match checked {
            Ok(checked) => Ok(Open { server, checked, client, connection }),
            Err(Refusal::Failed(error)) => Err(Failure::Unreachable(error)),
            Err(Refusal::OtherChain(error)) => Err(Failure::Refused(error)),
            Err(Refusal::Behind { found, seen }) => {
                let reason = format!(
                    "{} leads to a server whose {found} is behind what this process has seen ({seen}), as that of a primary that was \
                     replaced: stop that server, or, if a backup was restored on purpose, start the explorers again",
                    self.check.part.option()
                );
                if self.choice.outdated().insert(server) {
                    tracing::error!(server = self.name(server), "{reason}");
                }
                Err(Failure::Refused(StoreError::Unavailable { reason }))
            }
        }
    }

    /// Looks whether another server is newer than the one that is used, which may still run.
    async fn look_around(&self) {
        let Chosen { server: Some(used), timeline, origin } = *self.choice.chosen.borrow() else { return };
        let others = (0..self.servers()).filter(|server| *server != used);
        let looks = others.map(|server| async move {
            if let Ok(open) = self.open(server).await
                && open.checked.origin == origin
                && open.checked.position.timeline() > timeline
            {
                tracing::warn!(server = self.name(server), "a standby was promoted: it is used from now on");
                drop(self.accept(open));
            }
        });
        join_all(looks).await;
    }

    fn servers(&self) -> usize {
        self.config.get_hosts().len().max(self.config.get_hostaddrs().len())
    }

    fn name(&self, server: usize) -> String {
        crate::database_url::servers(&single(&self.config, server))
    }
}

/// Positions of different databases cannot be compared: then it is a copy of the first one in the URL.
fn newest(found: Vec<Open>) -> Option<Open> {
    let origin = found.iter().min_by_key(|open| open.server)?.checked.origin;
    let copies = found.into_iter().filter(|open| open.checked.origin == origin);
    copies.max_by_key(|open| (open.checked.position, Reverse(open.server)))
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable { reason: reason.to_owned() }
}

/// The same with one of its servers.
fn single(config: &Config, server: usize) -> Config {
    let mut one = Config::new();
    macro_rules! copy {
        ($($get:ident => $set:ident),*) => { $( if let Some(value) = config.$get() { one.$set(value); } )* };
    }
    copy!(get_user => user, get_password => password, get_dbname => dbname, get_options => options,
        get_application_name => application_name);
    if let Some(timeout) = config.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs());
    match config.get_hosts().get(server) {
        Some(tokio_postgres::config::Host::Tcp(host)) => one.host(host),
        Some(tokio_postgres::config::Host::Unix(folder)) => one.host_path(folder),
        None => &mut one,
    };
    if let Some(address) = config.get_hostaddrs().get(server) {
        one.hostaddr(*address);
    }
    if let Some(port) = config.get_ports().get(server).or(config.get_ports().first()) {
        one.port(*port);
    }
    one
}

/// A connection, until another server is used.
pub(crate) struct ServerConnection {
    connection: Connection<Socket, Encrypted<Socket>>,
    superseded: Fuse<BoxFuture<'static, ()>>,
}

impl ServerConnection {
    /// None at the end of the connection. To be dropped then.
    pub(crate) fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> {
        if Pin::new(&mut self.superseded).poll(context).is_ready() {
            return Poll::Ready(None);
        }
        self.connection.poll_message(context)
    }

    /// Receives messages until the connection ends.
    pub(crate) async fn run(mut self) {
        let mut messages = poll_fn(|context| self.poll_message(context));
        while let Some(message) = messages.next().await {
            if let Err(error) = message {
                tracing::debug!(%error, "a connection to the database ended");
                return;
            }
        }
    }
}

/// Looks for a newer server until it is dropped.
#[derive(Debug)]
pub(crate) struct LookingAround(AbortHandle);

impl LookingAround {
    pub(crate) fn start(url: DatabaseUrl) -> Self {
        let url = Arc::new(url);
        let task = tokio::spawn(async move {
            while url.servers() > 1 {
                tokio::time::sleep(LOOK).await;
                url.look_around().await;
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for LookingAround {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_several_has_its_own_host_and_port_and_all_that_is_common() {
        let url = "postgres://me:secret@one:5001,%2Fsocket:5002/chain?connect_timeout=3&keepalives_idle=7&keepalives_interval=2\
            &keepalives_retries=4&tcp_user_timeout=9&application_name=x&options=-c%20jit%3Doff&target_session_attrs=read-write\
            &channel_binding=disable&sslmode=require&sslnegotiation=postgres";
        let several: Config = url.parse().unwrap();
        for (server, host) in [(0, "one:5001"), (1, "%2Fsocket:5002")] {
            let expected: Config = url.replace("one:5001,%2Fsocket:5002", host).parse().unwrap();
            assert_eq!(single(&several, server), expected);
        }
        let with_addresses: Config = "hostaddr=10.0.0.1,10.0.0.2 port=6000 user=a dbname=d".parse().unwrap();
        let expected: Config = "hostaddr=10.0.0.2 port=6000 user=a dbname=d".parse().unwrap();
        assert_eq!(single(&with_addresses, 1), expected);
    }
}
