//! Followers.

use futures_util::FutureExt;

use super::*;

/// The number of the next entry, or how many were skipped.
async fn next(follower: &mut Follower) -> Result<u64, u64> {
    match follower.next().await.expect("the journal is open") {
        Followed::Call(entry) => Ok(entry.number),
        Followed::Skipped(entries) => Err(entries),
    }
}

#[tokio::test]
async fn follower_gets_the_calls_after_it_began() {
    let journal = journal();
    record(&journal);
    let mut follower = journal.follow(Filter::default()).unwrap();
    assert!(follower.next().now_or_never().is_none());
    record(&journal);
    record(&journal);
    assert_eq!([next(&mut follower).await, next(&mut follower).await], [Ok(2), Ok(3)]);
    // A wait that was given up loses nothing.
    assert!(follower.next().now_or_never().is_none());
    record(&journal);
    assert_eq!(next(&mut follower).await, Ok(4));
}

#[tokio::test]
async fn waiting_follower_wakes_for_a_new_call() {
    let journal = journal();
    let mut follower = journal.follow(Filter::default()).unwrap();
    let waiting = tokio::spawn(async move { next(&mut follower).await });
    tokio::task::yield_now().await;
    record(&journal);
    assert_eq!(waiting.await.unwrap(), Ok(1));
}

#[tokio::test]
async fn follower_continues_after_the_number_that_it_names() {
    let journal = journal();
    for _ in 0..3 {
        record(&journal);
    }
    let mut follower = journal.follow(Filter::default().after(1)).unwrap();
    assert_eq!([next(&mut follower).await, next(&mut follower).await], [Ok(2), Ok(3)]);
    // A number that this journal has not reached, of an earlier process: it begins with the next call.
    let mut follower = journal.follow(Filter::default().after(70)).unwrap();
    assert!(follower.next().now_or_never().is_none());
    record(&journal);
    assert_eq!(next(&mut follower).await, Ok(4));
}

#[tokio::test]
async fn slow_follower_skips_and_is_told_how_many() {
    let journal = journal();
    let mut follower = journal.follow(Filter::default()).unwrap();
    for _ in 0..1005 {
        record(&journal);
    }
    assert_eq!(next(&mut follower).await, Err(5));
    assert_eq!(next(&mut follower).await, Ok(6));
    journal.clear();
    assert_eq!(next(&mut follower).await, Err(999));
    record(&journal);
    assert_eq!(next(&mut follower).await, Ok(1006));
}

#[tokio::test]
async fn follower_gets_only_what_its_filter_passes() {
    let journal = journal();
    let filter = Filter { method: Some(crate::Method::Get), ..Filter::default() };
    let mut follower = journal.follow(filter).unwrap();
    record(&journal);
    with_call(|call| journal.record(&NewCall { method: &Method::GET, ..call }));
    assert_eq!(next(&mut follower).await, Ok(2));
    assert!(follower.next().now_or_never().is_none());
}

#[tokio::test]
async fn closed_journal_ends_its_followers_and_records_nothing() {
    let journal = journal();
    let mut follower = journal.follow(Filter::default()).unwrap();
    let waiting = tokio::spawn(async move { follower.next().await.is_none() });
    tokio::task::yield_now().await;
    journal.close();
    assert!(waiting.await.unwrap());
    record(&journal);
    assert!(journal.list(&Filter::default()).is_empty());
    assert!(journal.follow(Filter::default()).unwrap().next().await.is_none());
}

#[tokio::test]
async fn followers_of_a_journal_are_limited() {
    let journal = journal();
    let mut followers: Vec<_> =
        (0..MOST_FOLLOWERS).map(|_| journal.follow(Filter::default()).unwrap()).collect();
    assert!(journal.follow(Filter::default()).is_none());
    followers.pop();
    assert!(journal.follow(Filter::default()).is_some());
}
