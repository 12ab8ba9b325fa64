use super::*;

const B: u64 = BLOCK_BYTES;

fn key(counter: u64) -> ContentKey {
    ContentKey { contact: [0; 16], entry: [0; 16], epoch: 0, counter }
}

fn id(index: u64) -> BlockId {
    BlockId { key: key(1), index }
}

fn departure(carrier: Carrier, blocks: Range<u64>, demanded: u64, reader: Option<u64>) -> Departure {
    Departure {
        carrier,
        key: key(1),
        size: 100 * B,
        reserved: (blocks.end - blocks.start) * B,
        demanded_until: demanded,
        blocks,
        wanted_by: reader,
        cut: CancellationToken::new(),
        raised: CancellationToken::new(),
    }
}

fn piece(length: u64) -> Bytes {
    vec![1; length as usize].into()
}

/// Lets a whole block arrive and land.
fn bring(flights: &mut Flights, flight: FlightId) -> BlockId {
    let Arrival::Whole(id, pieces) = flights.arrived(flight, piece(B)) else { panic!("not whole") };
    assert_eq!(pieces, [piece(B)]);
    assert_eq!(flights.landed(flight, &id, B), Some(B));
    id
}

#[test]
fn parts_are_readable_as_they_arrive() {
    let mut flights = Flights::default();
    let flight = flights.begin(departure(Carrier::Demand, 3..5, 5, None));
    let (carrier, progress) = flights.watch(&id(3)).unwrap();
    assert_eq!(carrier, Carrier::Demand);
    assert_eq!(flights.arrived(flight, Bytes::from_static(b"abc")), Arrival::Partial);
    assert_eq!(flights.arrived(flight, Bytes::from_static(b"defg")), Arrival::Partial);
    assert_eq!(progress.borrow().arrived, 3 * B + 7);
    assert_eq!(flights.part(&id(3), &(1..5)).as_deref(), Some(&b"bcde"[..]));
    assert_eq!(flights.part(&id(3), &(6..7)).as_deref(), Some(&b"g"[..]));
    assert_eq!(flights.part(&id(3), &(6..8)), None);
    assert_eq!(flights.part(&id(4), &(0..1)), None);
    assert!(!flights.is_read(flight));
    let Arrival::Whole(whole, pieces) = flights.arrived(flight, piece(B - 7)) else { panic!("not whole") };
    assert_eq!((whole, pieces.len()), (id(3), 3));
    assert!(flights.part(&id(3), &(0..B as usize)).is_some(), "readable until it has landed");
    assert!(flights.is_read(flight), "a read had its end");
    assert_eq!(flights.landed(flight, &whole, B), Some(B));
    assert!(!flights.carries(&id(3)) && flights.carries(&id(4)));
    assert!(!flights.is_over(flight));
    assert_eq!(bring(&mut flights, flight), id(4));
    assert!(flights.is_over(flight));
    let ended = flights.end(flight, Ok(())).unwrap();
    assert_eq!(ended.reserved, 0);
    assert_eq!(progress.borrow().ended, Some(Ok(())));
    assert!(flights.end(flight, Ok(())).is_none());
}

#[test]
fn read_ahead_is_cut_when_its_reader_leaves() {
    let mut flights = Flights::default();
    let departure = departure(Carrier::ReadAhead, 0..4, 0, Some(7));
    let cut = departure.cut.clone();
    let flight = flights.begin(departure);
    bring(&mut flights, flight);
    assert_eq!(flights.withdraw(8, &(0..0)), 0);
    assert!(!cut.is_cancelled());
    assert_eq!(flights.withdraw(7, &(0..0)), 3 * B, "the memory of what does not come");
    assert!(cut.is_cancelled());
    assert!((0..4).all(|index| !flights.carries(&id(index))));
    assert!(flights.is_over(flight));
}

#[test]
fn a_block_that_only_has_to_land_is_not_cut() {
    let mut flights = Flights::default();
    let flight = flights.begin(departure(Carrier::ReadAhead, 0..4, 0, Some(7)));
    let Arrival::Whole(whole, _) = flights.arrived(flight, piece(B)) else { panic!("not whole") };
    assert_eq!(flights.withdraw(7, &(0..0)), 0);
    assert!(flights.carries(&id(0)) && !flights.carries(&id(1)));
    assert_eq!(flights.landed(flight, &whole, B), Some(B));
    assert!(flights.is_over(flight), "but it is the last");
}

#[test]
fn read_ahead_that_others_want_or_wait_for_goes_on() {
    let mut flights = Flights::default();
    let cut: Vec<_> = [0, 4, 8]
        .map(|start| {
            let departure = departure(Carrier::ReadAhead, start..start + 4, 0, Some(7));
            let cut = departure.cut.clone();
            flights.begin(departure);
            cut
        })
        .into();
    flights.want(&id(2), 8);
    let waiting = flights.watch(&id(5)).unwrap();
    assert_eq!(flights.withdraw(7, &(11..12)), 0, "the third lies where the reader goes on");
    assert!(cut.iter().all(|cut| !cut.is_cancelled()));
    assert_eq!(flights.withdraw(8, &(0..0)), 4 * B);
    assert!(cut[0].is_cancelled() && !cut[1].is_cancelled());
    drop(waiting);
    assert_eq!(flights.abandon(&id(4)), 4 * B);
    assert!(cut[1].is_cancelled());
    assert_eq!(flights.withdraw(7, &(0..0)), 4 * B);
}

#[test]
fn an_extended_demand_is_cut_back_to_what_was_needed() {
    let mut flights = Flights::default();
    let departure = departure(Carrier::Demand, 0..8, 2, Some(7));
    let cut = departure.cut.clone();
    let flight = flights.begin(departure);
    bring(&mut flights, flight);
    assert_eq!(flights.withdraw(7, &(20..30)), 0);
    assert!(!cut.is_cancelled());
    assert!(flights.carries(&id(1)) && !flights.carries(&id(2)));
    bring(&mut flights, flight);
    assert!(flights.is_over(flight));
    assert_eq!(flights.end(flight, Ok(())).unwrap().reserved, 6 * B);
}

#[test]
fn a_plain_demand_outlives_its_reader_and_not_its_last_waiter() {
    let mut flights = Flights::default();
    let flight = flights.begin(departure(Carrier::Demand, 0..2, 2, None));
    assert_eq!(flights.withdraw(7, &(0..0)), 0);
    assert!(!flights.is_over(flight));
    let other = flights.watch(&id(1)).unwrap();
    assert_eq!(flights.abandon(&id(0)), 0);
    assert!(!flights.is_over(flight));
    drop(other);
    assert_eq!(flights.abandon(&id(0)), 2 * B);
    assert!(flights.is_over(flight));
}

#[test]
fn a_diverted_flight_brings_the_newer_version() {
    let mut flights = Flights::default();
    let other = flights.begin(Departure { key: key(2), ..departure(Carrier::Demand, 2..3, 3, None) });
    let flight = flights.begin(departure(Carrier::ReadAhead, 0..4, 0, Some(7)));
    let (_, progress) = flights.watch(&id(0)).unwrap();
    assert_eq!(flights.divert(flight, key(2), 2 * B + 5), [7]);
    assert_eq!((progress.borrow().key, progress.borrow().size), (key(2), 2 * B + 5));
    assert!((0..4).all(|index| !flights.carries(&id(index))));
    let newer = |index| BlockId { key: key(2), index };
    assert!(flights.carries(&newer(0)) && flights.carries(&newer(1)) && !flights.carries(&newer(3)));
    assert_eq!(bring(&mut flights, flight), newer(0));
    assert_eq!(bring(&mut flights, flight), newer(1));
    let Arrival::Whole(last, _) = flights.arrived(flight, piece(5)) else { panic!("the last block") };
    assert_eq!(flights.landed(flight, &last, 5), None, "the other flight brings this one");
    assert!(flights.end(flight, Ok(())).is_some());
    assert!(flights.carries(&newer(2)));
    assert!(!flights.is_over(other));
}
