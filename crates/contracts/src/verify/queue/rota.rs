//! Whose turn it is: a pure state, which is told the time.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    time::{Duration, Instant},
};

use alloy_primitives::Address;

/// Who asks for a verification, as far as turns are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifyClient {
    /// Where requests come from: an IPv4 address, or the first of an IPv6 /64.
    pub site: IpAddr,
    /// Whose API key was sent.
    pub owner: Option<Address>,
}

/// How much one client may have verified at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub running: usize,
    pub waiting: usize,
}

/// How turns are given.
#[derive(Debug, Clone, Copy)]
pub struct QueueConfig {
    /// Verifications that run at once, each for its first while.
    pub at_once: usize,
    /// A verification that has run this long makes way for the next, and goes on beside it.
    pub turn: Duration,
    /// Verifications that may go on beside others.
    pub beside: usize,
    /// Verifications that may wait, of all clients.
    pub waiting: usize,
    pub anonymous: Allowance,
    /// With an API key; over all keys of an owner, and over all keys that are used from one place.
    pub keyed: Allowance,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            at_once: 2,
            turn: Duration::from_secs(5),
            beside: 2,
            waiting: 16,
            anonymous: Allowance { running: 1, waiting: 2 },
            keyed: Allowance { running: 2, waiting: 4 },
        }
    }
}

/// Why there is no place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// This client has enough verifications waiting.
    OfOneClient,
    OfAll,
}

pub(super) type Ticket = u64;

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    client: VerifyClient,
    /// Whether it could run now: until its compiler is there it only holds its place.
    ready: bool,
}

#[derive(Debug)]
struct Running {
    ticket: Ticket,
    client: VerifyClient,
    since: Instant,
    beside: bool,
}

/// Turns go round over the sites that have something waiting; each site's own verifications run first come first served.
#[derive(Debug)]
pub(super) struct Rota {
    config: QueueConfig,
    last_ticket: Ticket,
    /// Sites with something waiting, the next one first.
    round: VecDeque<IpAddr>,
    waiting: HashMap<IpAddr, VecDeque<Waiting>>,
    running: Vec<Running>,
}

impl Rota {
    pub(super) fn new(config: QueueConfig) -> Self {
        let config = QueueConfig { at_once: config.at_once.max(1), ..config };
        Self { config, last_ticket: 0, round: VecDeque::new(), waiting: HashMap::new(), running: Vec::new() }
    }

    /// Takes a place among those that wait.
    pub(super) fn join(&mut self, client: VerifyClient) -> Result<Ticket, Full> {
        let allowance = self.allowance(client);
        let of_one = |same: &dyn Fn(&VerifyClient) -> bool| {
            let waiting = self.all_waiting().filter(|one| same(&one.client)).count();
            let running = self.running.iter().filter(|one| same(&one.client)).count();
            // What could run at once does not count as waiting.
            waiting + running >= allowance.running + allowance.waiting
        };
        if of_one(&|one| one.site == client.site)
            || client.owner.is_some_and(|owner| of_one(&|one| one.owner == Some(owner)))
        {
            return Err(Full::OfOneClient);
        }
        if self.all_waiting().count() >= self.config.waiting + self.config.at_once.saturating_sub(self.running.len()) {
            return Err(Full::OfAll);
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let queue = self.waiting.entry(client.site).or_default();
        if queue.is_empty() {
            self.round.push_back(client.site);
        }
        queue.push_back(Waiting { ticket, client, ready: false });
        Ok(ticket)
    }

    /// Says that a verification could run now.
    pub(super) fn make_ready(&mut self, ticket: Ticket) {
        let found = self.waiting.values_mut().flatten().find(|one| one.ticket == ticket);
        if let Some(found) = found {
            found.ready = true;
        }
    }

    /// Gives out turns; tells when the next one may come by time alone.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Instant> {
        loop {
            self.make_way(now);
            if self.first_turns() >= self.config.at_once || !self.start_next(now) {
                break;
            }
        }
        // Where nobody could take over, or nobody can be set aside, time alone changes nothing.
        let may_make_way = self.beside() < self.config.beside && self.is_wanted();
        let next = self.running.iter().filter(|one| !one.beside).map(|one| one.since + self.config.turn).min();
        next.filter(|_| may_make_way)
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_running(&self, ticket: Ticket) -> bool {
        self.running.iter().any(|one| one.ticket == ticket)
    }

    /// Gives up a place or a turn.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.running.retain(|one| one.ticket != ticket);
        for queue in self.waiting.values_mut() {
            queue.retain(|one| one.ticket != ticket);
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        self.round.retain(|site| self.waiting.contains_key(site));
    }

    fn allowance(&self, client: VerifyClient) -> Allowance {
        if client.owner.is_some() { self.config.keyed } else { self.config.anonymous }
    }

    fn all_waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values().flatten()
    }

    fn first_turns(&self) -> usize {
        self.running.iter().filter(|one| !one.beside).count()
    }

    fn beside(&self) -> usize {
        self.running.iter().filter(|one| one.beside).count()
    }

    /// Sets aside what has had its turn, the longest first, where somebody waits for it.
    fn make_way(&mut self, now: Instant) {
        if !self.is_wanted() || self.first_turns() < self.config.at_once || self.beside() >= self.config.beside {
            return;
        }
        let turn = self.config.turn;
        let over = |one: &&mut Running| !one.beside && now.saturating_duration_since(one.since) >= turn;
        if let Some(one) = self.running.iter_mut().filter(over).min_by_key(|one| one.since) {
            one.beside = true;
        }
    }

    /// Whether anything that waits could run, if there were room.
    fn is_wanted(&self) -> bool {
        self.all_waiting().any(|one| one.ready && self.may_run(one.client))
    }

    fn may_run(&self, client: VerifyClient) -> bool {
        let most = self.allowance(client).running;
        let count = |same: &dyn Fn(&VerifyClient) -> bool| self.running.iter().filter(|one| same(&one.client)).count();
        count(&|one| one.site == client.site) < most
            && client.owner.is_none_or(|owner| count(&|one| one.owner == Some(owner)) < most)
    }

    /// Starts the first that may run of the next site that has one.
    fn start_next(&mut self, now: Instant) -> bool {
        let next = self.round.iter().enumerate().find_map(|(turn, site)| {
            let queue = self.waiting.get(site)?;
            let place = queue.iter().position(|one| one.ready && self.may_run(one.client))?;
            Some((turn, *site, place))
        });
        let Some((turn, site, place)) = next else { return false };
        self.round.remove(turn);
        let Some(queue) = self.waiting.get_mut(&site) else { return false };
        let Some(Waiting { ticket, client, .. }) = queue.remove(place) else { return false };
        if queue.is_empty() {
            self.waiting.remove(&site);
        } else {
            self.round.push_back(site);
        }
        self.running.push(Running { ticket, client, since: now, beside: false });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_secs(5);

    fn anonymous(site: u8) -> VerifyClient {
        VerifyClient { site: IpAddr::from([192, 0, 2, site]), owner: None }
    }

    fn keyed(site: u8, owner: u8) -> VerifyClient {
        VerifyClient { owner: Some(Address::repeat_byte(owner)), ..anonymous(site) }
    }

    fn rota() -> Rota {
        Rota::new(QueueConfig::default())
    }

    fn join(rota: &mut Rota, client: VerifyClient) -> Result<Ticket, Full> {
        let ticket = rota.join(client)?;
        rota.make_ready(ticket);
        Ok(ticket)
    }

    #[test]
    fn a_third_client_gets_its_turn_behind_any_two_that_never_end() {
        let (mut rota, start) = (rota(), Instant::now());
        let mut first = Vec::new();
        for site in [1, 2] {
            first.push(join(&mut rota, anonymous(site)).unwrap());
            join(&mut rota, anonymous(site)).unwrap();
            join(&mut rota, anonymous(site)).unwrap();
        }
        rota.advance(start);
        assert!(first.iter().all(|ticket| rota.is_running(*ticket)));
        let honest = join(&mut rota, anonymous(3)).unwrap();
        let next = rota.advance(start + Duration::from_secs(1));
        assert!(!rota.is_running(honest));
        assert_eq!(next, Some(start + TURN), "it is known when its turn comes");
        rota.advance(start + TURN);
        assert!(rota.is_running(honest), "neither of the two has ended");
        assert_eq!(rota.running.len(), 3, "and nothing else of theirs has begun");
        assert!(TURN <= Duration::from_secs(10));
    }

    #[test]
    fn an_anonymous_client_has_one_running_and_two_waiting() {
        let (mut rota, now) = (rota(), Instant::now());
        let tickets: Vec<_> = (0..3).map(|_| join(&mut rota, anonymous(1)).unwrap()).collect();
        rota.advance(now);
        assert_eq!(join(&mut rota, anonymous(1)), Err(Full::OfOneClient));
        let running = |rota: &Rota| tickets.iter().filter(|ticket| rota.is_running(**ticket)).count();
        assert_eq!(rota.advance(now + 100 * TURN), None, "time alone brings it no further");
        assert_eq!(running(&rota), 1, "its second waits, though there is room");
        rota.leave(tickets[0]);
        rota.advance(now);
        assert!(rota.is_running(tickets[1]) && !rota.is_running(tickets[2]));
        assert!(join(&mut rota, anonymous(1)).is_ok(), "and one more may wait");
        assert!(join(&mut rota, anonymous(2)).is_ok(), "another client's count is its own");
    }

    #[test]
    fn a_key_allows_more_but_many_keys_from_one_place_no_more_than_one() {
        let (mut rota, now) = (rota(), Instant::now());
        let tickets: Vec<_> = (0..6).map(|owner| join(&mut rota, keyed(1, owner)).unwrap()).collect();
        assert_eq!(join(&mut rota, keyed(1, 9)), Err(Full::OfOneClient));
        rota.advance(now);
        rota.advance(now + 100 * TURN);
        assert_eq!(tickets.iter().filter(|ticket| rota.is_running(**ticket)).count(), 2);

        let mut rota = self::rota();
        for site in 1..=6 {
            join(&mut rota, keyed(site, 1)).unwrap();
        }
        assert_eq!(join(&mut rota, keyed(7, 1)), Err(Full::OfOneClient), "nor one key from many places");
    }

    #[test]
    fn turns_go_round_whoever_asked_first() {
        let (mut rota, now) =
            (Rota::new(QueueConfig { at_once: 1, beside: 0, ..QueueConfig::default() }), Instant::now());
        let many: Vec<_> = (0..3).map(|_| join(&mut rota, anonymous(1)).unwrap()).collect();
        let one = join(&mut rota, anonymous(2)).unwrap();
        let mut order = Vec::new();
        rota.advance(now);
        while let Some(running) = rota.running.first().map(|one| one.ticket) {
            order.push(running);
            rota.leave(running);
            rota.advance(now);
        }
        assert_eq!(order, [many[0], one, many[1], many[2]]);
    }

    #[test]
    fn no_more_run_at_once_than_may_whatever_the_time() {
        let (mut rota, now) = (rota(), Instant::now());
        let tickets: Vec<_> = (1..=12).map(|site| join(&mut rota, anonymous(site)).unwrap()).collect();
        for round in 0..50_u32 {
            rota.advance(now + round * TURN);
            assert!(rota.running.len() <= 4 && rota.first_turns() <= 2, "{rota:?}");
        }
        assert_eq!(rota.running.len(), 4);
        for ticket in tickets {
            assert!(rota.is_running(ticket), "first come first served: {ticket}");
            rota.leave(ticket);
            rota.advance(now + 100 * TURN);
        }
        assert!(rota.running.is_empty() && rota.waiting.is_empty() && rota.round.is_empty());
    }

    #[test]
    fn a_place_without_a_compiler_holds_nobody_up() {
        let (mut rota, now) = (rota(), Instant::now());
        let fetching = rota.join(anonymous(1)).unwrap();
        let other = join(&mut rota, anonymous(2)).unwrap();
        rota.advance(now);
        assert!(!rota.is_running(fetching) && rota.is_running(other));
        rota.make_ready(fetching);
        rota.advance(now);
        assert!(rota.is_running(fetching));
    }

    #[test]
    fn only_so_many_wait() {
        let mut rota = Rota::new(QueueConfig { waiting: 3, ..QueueConfig::default() });
        let now = Instant::now();
        for site in 1..=5 {
            join(&mut rota, anonymous(site)).unwrap();
            rota.advance(now);
        }
        assert_eq!(join(&mut rota, anonymous(6)), Err(Full::OfAll));
    }
}
