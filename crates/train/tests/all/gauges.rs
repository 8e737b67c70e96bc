//! The figures for the metrics.

use serde_json::json;
use train::SERVICE;

use crate::fixture::{Open, TRIP};

impl Open {
    /// The value of each figure now.
    async fn figures(&self) -> Vec<(&'static str, f64)> {
        let mut figures = Vec::new();
        for gauge in SERVICE.gauges {
            figures.push((gauge.name, gauge.read(&self.db, self.clock.now()).await.unwrap()));
        }
        figures
    }

    async fn has_figures(&self, held: f64, deliveries: f64, age: f64) {
        let expected = [
            ("triptych_train_held_bookings", held),
            ("triptych_webhook_outbox_deliveries", deliveries),
            ("triptych_webhook_outbox_age_seconds", age),
        ];
        assert_eq!(self.figures().await, expected);
    }
}

testkit::on_both_engines! {
    async fn figures_count_holds_and_deliveries_that_are_not_finished(open: Open) {
        open.has_figures(0.0, 0.0, 0.0).await;
        let url = json!({"url": "https://subscriber.example/hooks"});
        open.ada.post("/webhooks").json(&url).send().await.has_status(201);
        open.ada.hold(TRIP).await;
        open.ben.hold(TRIP).await;
        // Nothing sends the event of ada's booking here. Ben has no subscription.
        open.has_figures(2.0, 1.0, 0.0).await;
        open.advance(jiff::SignedDuration::from_secs(90)).await;
        open.has_figures(2.0, 1.0, 90.0).await;
        open.advance(jiff::SignedDuration::from_hours(1)).await;
        open.do_due_work().await;
        open.has_figures(0.0, 1.0, 3690.0).await;
    }
}
