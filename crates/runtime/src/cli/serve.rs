//! A server in the ways of OpenAI's. For example, `tokenmold serve --model DIR --port 8080`, and in a
//! browser `http://127.0.0.1:8080`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use constraint::TagOptions;
use serde_json::json;
use tokenmold::serve::{ServeConfig, Server};
use tokio::net::TcpListener;

use super::model::ModelArgs;
use super::schema::{SchemaOptions, Use};
use super::{Failure, Format, Notes, Output, say, write_out};

/// Arguments of `tokenmold serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on. Others than this machine reach the server only if told here.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,

    /// The port to listen on; 0 for any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,

    /// The name by which requests ask for the model [default: the last part of its path, or
    /// `tokenmold` for the embedded one].
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,

    /// The number of texts that are generated side by side. Each takes memory for what it
    /// remembers.
    #[arg(long, value_name = "N", default_value_t = 4)]
    lanes: usize,

    /// The most texts that wait for a lane; a request beyond them is refused with 429.
    #[arg(long, value_name = "N", default_value_t = 64)]
    max_queue: usize,

    /// The most bytes of a request.
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    max_body: usize,

    /// The most tokens of an answer whose request does not say.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_tokens: usize,

    /// The most mebibytes of compiled constraints that are kept, about.
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    max_compiled: usize,

    /// The most seconds of a request, its waiting and its answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,

    /// Set a limit of what the grammars and structural tags of requests may cost, any number of times:
    /// `max_walk_work=1000000`. An error names the one that is exceeded.
    #[arg(long, value_name = "NAME=N", value_parser = limit)]
    limit: Vec<(String, usize)>,

    /// The key that requests must have. Default: the variable TOKENMOLD_API_KEY, if it is set.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,

    /// Let pages of other sites send requests.
    #[arg(long)]
    cors: bool,

    /// Bind answers by their schemas without showing these to the model.
    #[arg(long)]
    hide_schema: bool,

    #[command(flatten)]
    options: SchemaOptions,

    #[command(flatten)]
    model: ModelArgs,
}

/// Reads `NAME=N`.
fn limit(given: &str) -> Result<(String, usize), String> {
    let (name, number) = given.split_once('=').unwrap_or((given, ""));
    if !TagOptions::limit_names().any(|known| known == name) {
        let names: Vec<&str> = TagOptions::limit_names().collect();
        return Err(format!("the limits are {}", names.join(", ")));
    }
    let number = number.parse().map_err(|_| "expected a whole number")?;
    Ok((name.to_owned(), number))
}

impl Args {
    fn config(&self) -> Result<ServeConfig, Failure> {
        let mut config = ServeConfig::default()
            .with_model_name(match &self.model_name {
                Some(name) => name.clone(),
                None => self.model.short_name(),
            })
            .with_lanes(self.lanes)
            .with_max_queue(self.max_queue)
            .with_timeout(Duration::from_secs(self.timeout));
        config.max_body = self.max_body;
        config.max_tokens = self.max_tokens;
        config.max_compiled = self.max_compiled.saturating_mul(1 << 20);
        config.limits.clone_from(&self.limit);
        config.cors = self.cors;
        config.schema_in_prompt = !self.hide_schema;
        config.options = self.options.options(Use::Generate);
        config.reading = self.options.reading().map_err(Failure::new)?;
        let key = std::env::var("TOKENMOLD_API_KEY").ok();
        config.api_key = self.api_key.clone().or(key).filter(|key| !key.is_empty());
        Ok(config)
    }
}

pub(crate) fn run(args: &Args, format: Format, notes: Notes) -> Result<Output, Failure> {
    let config = args.config()?;
    let name = config.model_name.clone();
    let loaded = args.model.load(notes)?;
    let server = Server::new(loaded, config).map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime.map_err(|error| Failure::of("the server's threads", error))?;
    let address = SocketAddr::new(args.host, args.port);
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| Failure::of(address, error))?;
        let own = listener.local_addr();
        let address = own.map_err(|error| Failure::of(address, error))?;
        let url = format!("http://{address}");
        // The result of this command: scripts read where it listens.
        write_out(&match format {
            Format::Text => format!("{name} at {url}\n"),
            Format::Json => format!("{}\n", json!({"url": url, "model": name})),
        })?;
        if notes == Notes::Show {
            say(&format!("a page to play with: {url}/\nan API: {url}/v1, described at {url}/openapi.json\nCtrl-C ends it\n"));
        }
        let served = server.serve(listener, ending(notes)).await;
        served.map_err(|error| Failure::of(address, error))
    });
    // Compiling that nobody waits for any more does not hold the program up.
    runtime.shutdown_background();
    served.map(|()| Output::default())
}

/// Comes with the first signal; the second one ends the program at once.
async fn ending(notes: Notes) {
    signal().await;
    if notes == Notes::Show {
        say("ends when the requests that there are have been answered; Ctrl-C ends it at once\n");
    }
    tokio::spawn(async {
        signal().await;
        std::process::exit(1);
    });
}

/// Comes with Ctrl-C, and with the signal by which services are ended.
async fn signal() {
    let key = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut ended) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = key => {}
                _ = ended.recv() => {}
            }
            return;
        }
    }
    let _ = key.await;
}
