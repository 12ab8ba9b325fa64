use std::path::Path;

use farhold_engine::settings::Settings;
use tempfile::TempDir;

use super::*;
use crate::dto::Failure;

/// How long anything here may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

struct Rig {
    folder: TempDir,
    orders: mpsc::Sender<Order>,
    events: mpsc::Receiver<Event>,
    client: watch::Receiver<Option<ControlClient>>,
    task: tokio::task::JoinHandle<()>,
}

impl Rig {
    fn start(folder: TempDir) -> Self {
        let (orders, received) = mpsc::channel(8);
        let (told, events) = mpsc::channel(64);
        let (sender, client) = watch::channel(None);
        let host = Host::new(folder.path().to_owned(), received, told, sender);
        Self { task: tokio::spawn(host.run(false)), folder, orders, events, client }
    }

    /// The first event for which `wanted` has an answer.
    async fn until<T>(&mut self, wanted: impl Fn(HostEvent) -> Option<T>) -> T {
        let found = async {
            loop {
                if let Some(Event::Host(event)) = self.events.recv().await
                    && let Some(found) = wanted(event)
                {
                    return found;
                }
            }
        };
        tokio::time::timeout(LIMIT, found).await.expect("an event in time")
    }

    async fn running(&mut self) -> bool {
        self.until(|event| if let HostEvent::Running { hosted } = event { Some(hosted) } else { None }).await
    }

    async fn failed(&mut self) -> Failure {
        self.until(|event| if let HostEvent::Failed(failure) = event { Some(failure) } else { None }).await
    }

    async fn quit(mut self) {
        self.orders.send(Order::Quit { force: false }).await.unwrap();
        self.until(|event| matches!(event, HostEvent::Ended).then_some(())).await;
        tokio::time::timeout(LIMIT, self.task).await.expect("an end in time").unwrap();
    }
}

/// A config directory whose engine needs neither FUSE nor a network.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    quiet().save(&settings(folder.path())).unwrap();
    folder
}

fn quiet() -> Settings {
    Settings { mount: false, lan: false, ..Settings::default() }
}

fn settings(folder: &Path) -> PathBuf {
    Layout::new(folder).settings()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_is_hosted_and_its_state_told() {
    let mut rig = Rig::start(folder());
    assert!(rig.running().await);
    rig.until(|event| matches!(event, HostEvent::Status(_)).then_some(())).await;
    rig.until(|event| matches!(event, HostEvent::Listed { .. }).then_some(())).await;
    let mut client = rig.client.borrow().clone().expect("a client");
    // Somebody else ends it, as `farhold down` does.
    client.stop().await.unwrap();
    assert_eq!(rig.failed().await.kind, FailureKind::NotRunning);
    assert!(rig.client.borrow().is_none());
    rig.orders.send(Order::Restart).await.unwrap();
    assert!(rig.running().await);
    rig.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_settings_are_told_and_can_be_mended() {
    let folder = folder();
    let settings = settings(folder.path());
    std::fs::write(&settings, "{").unwrap();
    let mut rig = Rig::start(folder);
    let failure = rig.failed().await;
    assert!(failure.message.contains("settings.json"), "{}", failure.message);
    rig.orders.send(Order::Connect { contact: "anna".to_owned() }).await.unwrap();
    rig.until(|event| matches!(event, HostEvent::Refused(_)).then_some(())).await;
    quiet().save(&settings).unwrap();
    rig.orders.send(Order::Restart).await.unwrap();
    assert!(rig.running().await);
    rig.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_engine_is_attached_to_and_left_alone() {
    let folder = folder();
    let engine = Engine::start(EngineConfig::new(folder.path())).await.unwrap();
    let socket = engine.layout().control_socket();
    let control = ControlServer::start(&socket, Arc::new(engine.clone())).unwrap();
    let mut rig = Rig::start(folder);
    assert!(!rig.running().await);
    rig.orders.send(Order::Connect { contact: "nobody".to_owned() }).await.unwrap();
    rig.until(|event| matches!(event, HostEvent::Refused(_)).then_some(())).await;
    let folder = std::mem::replace(&mut rig.folder, tempfile::tempdir().unwrap());
    rig.quit().await;
    assert!(engine.status().is_ok());
    // Its end is noticed, and another one can be hosted then.
    let mut rig = Rig::start(folder);
    assert!(!rig.running().await);
    engine.stop().await;
    control.stop().await;
    assert_eq!(rig.failed().await.kind, FailureKind::NotRunning);
    rig.orders.send(Order::Restart).await.unwrap();
    assert!(rig.running().await);
    rig.quit().await;
}
