//! Decides which verification runs next: a pure state machine that takes the time as an argument.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::IpAddr,
    time::{Duration, Instant},
};

use alloy_primitives::Address;

/// The client of a verification, for fair scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifyClient {
    /// The client's IPv4 address, or the first address of its IPv6 /64.
    pub network: IpAddr,
    /// The owner of the API key that was sent.
    pub owner: Option<Address>,
}

/// How many verifications one client may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub running: usize,
    pub waiting: usize,
}

/// How verifications are scheduled.
#[derive(Debug, Clone, Copy)]
pub struct QueueConfig {
    /// Verifications that run concurrently within their time slice.
    pub concurrent: usize,
    /// After this time a verification goes into overtime: it keeps running, and the next one starts.
    pub time_slice: Duration,
    /// Verifications that may run in overtime.
    pub overtime: usize,
    /// Verifications that may wait, over all clients.
    pub waiting: usize,
    pub anonymous: Allowance,
    /// With an API key: per owner over all its keys, and per network over all keys used there.
    pub keyed: Allowance,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            concurrent: 2,
            time_slice: Duration::from_secs(5),
            overtime: 2,
            waiting: 64,
            anonymous: Allowance { running: 1, waiting: 2 },
            keyed: Allowance { running: 2, waiting: 4 },
        }
    }
}

/// Why a verification cannot join the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueFull {
    /// The client has reached its limit.
    ClientLimit,
    TotalLimit,
}

pub(super) type Ticket = u64;

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    client: VerifyClient,
    /// Whether it could run now; false until its compiler is available.
    ready: bool,
}

#[derive(Debug)]
struct Running {
    ticket: Ticket,
    client: VerifyClient,
    since: Instant,
    overtime: bool,
}

/// Schedules round-robin over the networks with waiting verifications; within a network in order of arrival.
#[derive(Debug)]
pub(super) struct Scheduler {
    config: QueueConfig,
    last_ticket: Ticket,
    /// Networks with waiting verifications, the next one first.
    next_networks: VecDeque<IpAddr>,
    waiting: HashMap<IpAddr, VecDeque<Waiting>>,
    running: Vec<Running>,
    /// Waiting verifications that were evicted, until they leave.
    evicted: HashSet<Ticket>,
}

impl Scheduler {
    pub(super) fn new(config: QueueConfig) -> Self {
        let config = QueueConfig { concurrent: config.concurrent.max(1), ..config };
        Self {
            config,
            last_ticket: 0,
            next_networks: VecDeque::new(),
            waiting: HashMap::new(),
            running: Vec::new(),
            evicted: HashSet::new(),
        }
    }

    /// Adds a waiting verification.
    pub(super) fn join(&mut self, client: VerifyClient) -> Result<Ticket, QueueFull> {
        let allowance = self.allowance(client);
        let at_limit = |same: &dyn Fn(&VerifyClient) -> bool| {
            let waiting = self.all_waiting().filter(|one| same(&one.client)).count();
            let running = self.running.iter().filter(|one| same(&one.client)).count();
            // Verifications that could run immediately do not count as waiting.
            waiting + running >= allowance.running + allowance.waiting
        };
        if at_limit(&|one| one.network == client.network)
            || client.owner.is_some_and(|owner| at_limit(&|one| one.owner == Some(owner)))
        {
            return Err(QueueFull::ClientLimit);
        }
        let room = self.config.waiting + self.config.concurrent.saturating_sub(self.running.len());
        if self.all_waiting().count() >= room && !self.evict_for(client.network) {
            return Err(QueueFull::TotalLimit);
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let queue = self.waiting.entry(client.network).or_default();
        if queue.is_empty() {
            self.next_networks.push_back(client.network);
        }
        queue.push_back(Waiting { ticket, client, ready: false });
        Ok(ticket)
    }

    /// Takes the place of the newest verification of the network with the most, if that has more than this network would have. So no
    /// group of networks can fill the queue for all others.
    fn evict_for(&mut self, network: IpAddr) -> bool {
        let own = self.waiting.get(&network).map_or(0, VecDeque::len);
        let heaviest = self.waiting.iter().max_by_key(|(_, queue)| queue.len());
        let Some((heaviest, _)) = heaviest.filter(|(_, queue)| queue.len() > own + 1) else { return false };
        let heaviest = *heaviest;
        let newest = self.waiting.get_mut(&heaviest).and_then(VecDeque::pop_back);
        self.evicted.extend(newest.map(|newest| newest.ticket));
        true
    }

    /// Whether a waiting verification was evicted.
    pub(super) fn is_evicted(&self, ticket: Ticket) -> bool {
        self.evicted.contains(&ticket)
    }

    /// Marks a verification as able to run.
    pub(super) fn make_ready(&mut self, ticket: Ticket) {
        let found = self.waiting.values_mut().flatten().find(|one| one.ticket == ticket);
        if let Some(found) = found {
            found.ready = true;
        }
    }

    /// Starts what may run; returns when the next time slice ends, if that allows another one to start.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Instant> {
        loop {
            self.move_to_overtime(now);
            if self.within_time_slice() >= self.config.concurrent || !self.start_next(now) {
                break;
            }
        }
        // Without a ready entry or room for overtime, the passing of time changes nothing.
        let may_preempt = self.overtime() < self.config.overtime && self.has_ready();
        let next = self.running.iter().filter(|one| !one.overtime).map(|one| one.since + self.config.time_slice).min();
        next.filter(|_| may_preempt)
    }

    /// The number of running verifications.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_running(&self, ticket: Ticket) -> bool {
        self.running.iter().any(|one| one.ticket == ticket)
    }

    /// Removes a waiting or running verification.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.running.retain(|one| one.ticket != ticket);
        self.evicted.remove(&ticket);
        for queue in self.waiting.values_mut() {
            queue.retain(|one| one.ticket != ticket);
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        self.next_networks.retain(|network| self.waiting.contains_key(network));
    }

    fn allowance(&self, client: VerifyClient) -> Allowance {
        if client.owner.is_some() { self.config.keyed } else { self.config.anonymous }
    }

    fn all_waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values().flatten()
    }

    fn within_time_slice(&self) -> usize {
        self.running.iter().filter(|one| !one.overtime).count()
    }

    fn overtime(&self) -> usize {
        self.running.iter().filter(|one| one.overtime).count()
    }

    /// Moves the oldest verification past its time slice into overtime, if another one is ready to run.
    fn move_to_overtime(&mut self, now: Instant) {
        if !self.has_ready()
            || self.within_time_slice() < self.config.concurrent
            || self.overtime() >= self.config.overtime
        {
            return;
        }
        let time_slice = self.config.time_slice;
        let over = |one: &&mut Running| !one.overtime && now.saturating_duration_since(one.since) >= time_slice;
        if let Some(one) = self.running.iter_mut().filter(over).min_by_key(|one| one.since) {
            one.overtime = true;
        }
    }

    /// Whether any waiting verification could run if there were room.
    fn has_ready(&self) -> bool {
        self.all_waiting().any(|one| one.ready && self.may_run(one.client))
    }

    fn may_run(&self, client: VerifyClient) -> bool {
        let limit = self.allowance(client).running;
        let count = |same: &dyn Fn(&VerifyClient) -> bool| self.running.iter().filter(|one| same(&one.client)).count();
        count(&|one| one.network == client.network) < limit
            && client.owner.is_none_or(|owner| count(&|one| one.owner == Some(owner)) < limit)
    }

    /// Starts the first runnable verification of the next network that has one.
    fn start_next(&mut self, now: Instant) -> bool {
        let next = self.next_networks.iter().enumerate().find_map(|(index, network)| {
            let queue = self.waiting.get(network)?;
            let position = queue.iter().position(|one| one.ready && self.may_run(one.client))?;
            Some((index, *network, position))
        });
        let Some((index, network, position)) = next else { return false };
        self.next_networks.remove(index);
        let Some(queue) = self.waiting.get_mut(&network) else { return false };
        let Some(Waiting { ticket, client, .. }) = queue.remove(position) else { return false };
        if queue.is_empty() {
            self.waiting.remove(&network);
        } else {
            self.next_networks.push_back(network);
        }
        self.running.push(Running { ticket, client, since: now, overtime: false });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_SLICE: Duration = Duration::from_secs(5);

    fn anonymous(network: u8) -> VerifyClient {
        VerifyClient { network: IpAddr::from([192, 0, 2, network]), owner: None }
    }

    fn keyed(network: u8, owner: u8) -> VerifyClient {
        VerifyClient { owner: Some(Address::repeat_byte(owner)), ..anonymous(network) }
    }

    fn scheduler() -> Scheduler {
        Scheduler::new(QueueConfig::default())
    }

    fn join(scheduler: &mut Scheduler, client: VerifyClient) -> Result<Ticket, QueueFull> {
        let ticket = scheduler.join(client)?;
        scheduler.make_ready(ticket);
        Ok(ticket)
    }

    #[test]
    fn a_third_client_runs_after_the_time_slice_of_two_that_never_end() {
        let (mut scheduler, start) = (scheduler(), Instant::now());
        let mut first = Vec::new();
        for network in [1, 2] {
            first.push(join(&mut scheduler, anonymous(network)).unwrap());
            join(&mut scheduler, anonymous(network)).unwrap();
            join(&mut scheduler, anonymous(network)).unwrap();
        }
        scheduler.advance(start);
        assert!(first.iter().all(|ticket| scheduler.is_running(*ticket)));
        let honest = join(&mut scheduler, anonymous(3)).unwrap();
        let next = scheduler.advance(start + Duration::from_secs(1));
        assert!(!scheduler.is_running(honest));
        assert_eq!(next, Some(start + TIME_SLICE), "the end of the time slice is returned");
        scheduler.advance(start + TIME_SLICE);
        assert!(scheduler.is_running(honest), "although neither of the two has ended");
        assert_eq!(scheduler.running.len(), 3, "and nothing else of theirs has started");
        assert!(TIME_SLICE <= Duration::from_secs(10));
    }

    #[test]
    fn an_anonymous_client_has_one_running_and_two_waiting() {
        let (mut scheduler, now) = (scheduler(), Instant::now());
        let tickets: Vec<_> = (0..3).map(|_| join(&mut scheduler, anonymous(1)).unwrap()).collect();
        scheduler.advance(now);
        assert_eq!(join(&mut scheduler, anonymous(1)), Err(QueueFull::ClientLimit));
        let running = |scheduler: &Scheduler| tickets.iter().filter(|ticket| scheduler.is_running(**ticket)).count();
        assert_eq!(scheduler.advance(now + 100 * TIME_SLICE), None, "the passing of time changes nothing");
        assert_eq!(running(&scheduler), 1, "its second waits although there is room");
        scheduler.leave(tickets[0]);
        scheduler.advance(now);
        assert!(scheduler.is_running(tickets[1]) && !scheduler.is_running(tickets[2]));
        assert!(join(&mut scheduler, anonymous(1)).is_ok(), "and one more may wait");
        assert!(join(&mut scheduler, anonymous(2)).is_ok(), "clients are counted separately");
    }

    #[test]
    fn a_key_raises_the_limit_but_many_keys_of_one_site_share_it() {
        let (mut scheduler, now) = (scheduler(), Instant::now());
        let tickets: Vec<_> = (0..6).map(|owner| join(&mut scheduler, keyed(1, owner)).unwrap()).collect();
        assert_eq!(join(&mut scheduler, keyed(1, 9)), Err(QueueFull::ClientLimit));
        scheduler.advance(now);
        scheduler.advance(now + 100 * TIME_SLICE);
        assert_eq!(tickets.iter().filter(|ticket| scheduler.is_running(**ticket)).count(), 2);

        let mut scheduler = self::scheduler();
        for network in 1..=6 {
            join(&mut scheduler, keyed(network, 1)).unwrap();
        }
        assert_eq!(join(&mut scheduler, keyed(7, 1)), Err(QueueFull::ClientLimit), "nor one owner from many networks");
    }

    #[test]
    fn sites_are_scheduled_round_robin() {
        let (mut scheduler, now) =
            (Scheduler::new(QueueConfig { concurrent: 1, overtime: 0, ..QueueConfig::default() }), Instant::now());
        let many: Vec<_> = (0..3).map(|_| join(&mut scheduler, anonymous(1)).unwrap()).collect();
        let one = join(&mut scheduler, anonymous(2)).unwrap();
        let mut order = Vec::new();
        scheduler.advance(now);
        while let Some(running) = scheduler.running.first().map(|one| one.ticket) {
            order.push(running);
            scheduler.leave(running);
            scheduler.advance(now);
        }
        assert_eq!(order, [many[0], one, many[1], many[2]]);
    }

    #[test]
    fn the_concurrency_limit_holds_at_any_time() {
        let (mut scheduler, now) = (scheduler(), Instant::now());
        let tickets: Vec<_> = (1..=12).map(|network| join(&mut scheduler, anonymous(network)).unwrap()).collect();
        for slices in 0..50_u32 {
            scheduler.advance(now + slices * TIME_SLICE);
            assert!(scheduler.running.len() <= 4 && scheduler.within_time_slice() <= 2, "{scheduler:?}");
        }
        assert_eq!(scheduler.running.len(), 4);
        for ticket in tickets {
            assert!(scheduler.is_running(ticket), "first come first served: {ticket}");
            scheduler.leave(ticket);
            scheduler.advance(now + 100 * TIME_SLICE);
        }
        assert!(scheduler.running.is_empty() && scheduler.waiting.is_empty() && scheduler.next_networks.is_empty());
    }

    #[test]
    fn an_entry_that_is_not_ready_does_not_block_others() {
        let (mut scheduler, now) = (scheduler(), Instant::now());
        let fetching = scheduler.join(anonymous(1)).unwrap();
        let other = join(&mut scheduler, anonymous(2)).unwrap();
        scheduler.advance(now);
        assert!(!scheduler.is_running(fetching) && scheduler.is_running(other));
        scheduler.make_ready(fetching);
        scheduler.advance(now);
        assert!(scheduler.is_running(fetching));
    }

    #[test]
    fn the_number_of_waiting_entries_is_limited() {
        let mut scheduler = Scheduler::new(QueueConfig { waiting: 3, ..QueueConfig::default() });
        let now = Instant::now();
        for network in 1..=5 {
            join(&mut scheduler, anonymous(network)).unwrap();
            scheduler.advance(now);
        }
        assert_eq!(join(&mut scheduler, anonymous(6)), Err(QueueFull::TotalLimit));
    }

    #[test]
    fn sites_that_fill_the_queue_do_not_shut_out_others() {
        let (mut scheduler, now) = (scheduler(), Instant::now());
        let mut theirs = Vec::new();
        for network in 1..=50 {
            for _ in 0..3 {
                theirs.extend(join(&mut scheduler, anonymous(network)));
                scheduler.advance(now);
            }
        }
        let honest: Vec<_> = (101..=108).map(|network| join(&mut scheduler, anonymous(network)).unwrap()).collect();
        let evicted = theirs.iter().filter(|ticket| scheduler.is_evicted(**ticket)).count();
        assert!(evicted >= honest.len(), "{evicted}");
        assert!(honest.iter().all(|ticket| !scheduler.is_evicted(*ticket)));
        assert!(scheduler.all_waiting().count() <= QueueConfig::default().waiting);
        for ticket in theirs.into_iter().chain(honest) {
            scheduler.leave(ticket);
        }
        assert!(scheduler.evicted.is_empty() && scheduler.waiting.is_empty());
    }
}
