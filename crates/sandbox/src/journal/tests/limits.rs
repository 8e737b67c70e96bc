//! The bounds of a journal.

use super::*;

/// Records a call with a body of this many bytes on both sides.
fn record_large(journal: &Journal, bytes: usize) -> u64 {
    let body = vec![b'x'; bytes];
    with_call(|call| {
        let request = Message { body: &body, length: bytes as u64, ..call.request };
        let answer = Message { body: &body, length: bytes as u64, ..call.answer };
        recorded(journal, &NewCall { request, answer, ..call })
    })
}

#[test]
fn oldest_entries_are_dropped_after_the_limit_of_entries() {
    let journal = journal();
    for number in 1..=1005 {
        assert_eq!(record(&journal), number);
    }
    let listed = numbers(&journal.list(&Filter::default()));
    assert_eq!(listed, (6..=1005).rev().collect::<Vec<_>>());
    assert!(journal.get(5).is_none());
    assert_eq!(journal.get(6).unwrap().number, 6);
    assert!(journal.get(1006).is_none());
}

#[test]
fn oldest_entries_are_dropped_after_the_limit_of_bytes() {
    let memory = JournalMemory::new(64 << 20);
    let journal = Journal::new(&memory);
    for _ in 0..1000 {
        record_large(&journal, 100_000);
    }
    let kept = journal.list(&Filter::default());
    let bytes: usize = kept.iter().map(|entry| entry.size).sum();
    assert_eq!((journal.ring().bytes(), memory.used()), (bytes, bytes));
    assert!(bytes <= MOST_BYTES && bytes + kept[0].size > MOST_BYTES, "{bytes}");
    assert_eq!(kept[0].number, 1000);
    assert!((200..256).contains(&kept.len()), "{}", kept.len());
}

#[test]
fn entry_of_an_extreme_call_is_bounded() {
    let journal = journal();
    let long = "ü".repeat(100_000);
    let many = (0..2000)
        .map(|number| (format!("x-{number}").parse().unwrap(), "v".repeat(50).parse().unwrap()))
        .collect();
    let many = CapturedHeaders::new(&many);
    let ids = vec![uuid::Uuid::nil(); 1000];
    let number = with_call(|call| {
        let request = Message { headers: many.clone(), body: long.as_bytes(), length: u64::MAX };
        let answer = Message { headers: many.clone(), body: long.as_bytes(), length: 0 };
        let (path, query) = (long.as_str(), Some(long.as_str()));
        let (user, client) = (Some(path), Some(path));
        recorded(&journal, &NewCall { request, answer, path, query, user, client, events: &ids, ..call })
    });
    let entry = journal.get(number).unwrap();
    assert!(entry.size < 96 << 10, "{}", entry.size);
    assert_eq!((entry.path.len(), entry.events.len()), (4096, 100));
}

#[test]
fn journals_share_a_limit_and_each_keeps_its_last_calls() {
    let memory = JournalMemory::new(1 << 20);
    let (busy, quiet) = (Journal::new(&memory), Journal::new(&memory));
    for _ in 0..100 {
        record_large(&busy, 16 << 10);
    }
    assert!(memory.used() <= 1 << 20, "{}", memory.used());
    for _ in 0..5 {
        record_large(&quiet, 10 << 10);
    }
    // The journal that was first has used up the memory; the other one has what is guaranteed to it.
    assert_eq!(numbers(&quiet.list(&Filter::default())), [5, 4, 3]);
    assert!(memory.used() <= (1 << 20) + (64 << 10), "{}", memory.used());
    record_large(&busy, 16 << 10);
    assert!(memory.used() <= 1 << 20, "{}", memory.used());
    drop(busy);
    drop(quiet);
    assert_eq!(memory.used(), 0);
}

#[test]
fn cleared_journal_has_no_entries_and_its_numbers_go_on() {
    let memory = JournalMemory::new(1 << 20);
    let journal = Journal::new(&memory);
    record(&journal);
    record(&journal);
    journal.clear();
    assert!(journal.list(&Filter::default()).is_empty());
    assert_eq!(memory.used(), 0);
    assert!(journal.get(2).is_none());
    assert_eq!(record(&journal), 3);
    assert_eq!(numbers(&journal.list(&Filter::default())), [3]);
}

#[test]
fn calls_of_threads_that_record_at_once_get_different_numbers() {
    let journal = journal();
    let paths = ["/a", "/b", "/c", "/d", "/e", "/f"];
    std::thread::scope(|scope| {
        for path in paths {
            let journal = &journal;
            scope.spawn(move || {
                for time in 0..150 {
                    let query = time.to_string();
                    with_call(|call| journal.record(&NewCall { path, query: Some(&query), ..call }));
                }
            });
        }
    });
    let entries = journal.list(&Filter::default());
    assert_eq!(numbers(&entries), (1..=900).rev().collect::<Vec<_>>());
    for path in paths {
        let queries =
            entries.iter().rev().filter(|entry| &*entry.path == path).filter_map(|entry| entry.query());
        let times: Vec<u32> = queries.map(|query| query.parse().unwrap()).collect();
        assert_eq!(times, (0..150).collect::<Vec<_>>(), "{path}");
    }
}

#[test]
fn calls_of_several_threads_are_in_the_order_of_their_time() {
    let memory = JournalMemory::new(64 << 20);
    let journal = Journal::new(&memory);
    for number in 0..20 {
        let path = format!("/{number}");
        std::thread::scope(|scope| {
            scope.spawn(|| with_call(|call| journal.record(&NewCall { path: &path, ..call })));
        });
    }
    let paths: Vec<_> =
        journal.list(&Filter::default()).iter().rev().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, (0..20).map(|number| format!("/{number}")).collect::<Vec<_>>());
    // What was not listed yet is released with the journal, too.
    record(&journal);
    with_call(|call| journal.record(&call));
    drop(journal);
    assert_eq!(memory.used(), 0);
}

#[test]
fn journal_that_is_not_read_keeps_its_last_calls() {
    let memory = JournalMemory::new(64 << 20);
    let journal = Journal::new(&memory);
    let record_at = |number: u32| {
        let path = format!("/{number}");
        with_call(|call| journal.record(&NewCall { path: &path, ..call }));
    };
    (0..3).for_each(record_at);
    assert_eq!(journal.list(&Filter::default()).len(), 3);
    // Calls of a thread that has few are older than those that are dropped, so they are dropped as well.
    std::thread::scope(|scope| scope.spawn(|| (3..5).for_each(record_at)).join()).unwrap();
    (5..5000).for_each(record_at);
    let unread = memory.used();
    let kept = journal.list(&Filter::default());
    assert_eq!(numbers(&kept), (4001..=5000).rev().collect::<Vec<_>>());
    let paths: Vec<_> = kept.iter().rev().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, (4000..5000).map(|number| format!("/{number}")).collect::<Vec<_>>());
    let bytes: usize = kept.iter().map(|entry| entry.size).sum();
    assert!(unread < bytes + bytes / 10 + 4 * CHUNK, "{unread} for {bytes}");
    assert_eq!(journal.activity().calls, 5000);
}

#[test]
fn headers_that_calls_share_are_kept_once() {
    let memory = JournalMemory::new(64 << 20);
    let journal = Journal::new(&memory);
    let long = "x".repeat(1000);
    let (shared, other) = (headers(&[("x-long", &long)]), headers(&[("x-other", "1")]));
    for number in 1..=8 {
        with_call(|call| {
            let headers = if number == 6 { &other } else { &shared };
            let request = Message { headers: headers.clone(), ..call.request };
            let answer = Message { headers: headers.clone(), ..call.answer };
            journal.record(&NewCall { request, answer, ..call });
        });
    }
    let kept = journal.list(&Filter::default());
    assert_eq!(numbers(&kept), [8, 7, 6, 5, 4, 3, 2, 1]);
    for entry in &kept {
        let sent = if entry.number == 6 { ("x-other", "1".to_owned()) } else { ("x-long", long.clone()) };
        for headers in [&entry.headers, &entry.answer_headers] {
            assert_eq!(headers.iter().collect::<Vec<_>>(), std::slice::from_ref(&sent));
        }
    }
    // Those of the requests and those of the answers, again after the call with others.
    assert!((4 * 1000..5 * 1000 + 8 * 400).contains(&memory.used()), "{}", memory.used());
}

#[test]
fn limit_of_bytes_holds_for_a_journal_that_is_not_read() {
    let memory = JournalMemory::new(1 << 20);
    let journal = Journal::new(&memory);
    let body = [b'x'; 3000];
    for _ in 0..1000 {
        with_call(|call| {
            let request = Message { body: &body, length: 3000, ..call.request };
            journal.record(&NewCall { request, ..call });
        });
        assert!(memory.used() <= (1 << 20) + CHUNK, "{}", memory.used());
    }
    assert_eq!(journal.list(&Filter::default())[0].number, 1000);
    journal.close();
    for _ in 0..1000 {
        with_call(|call| journal.record(&call));
        assert!(memory.used() <= CHUNK, "{}", memory.used());
    }
}
