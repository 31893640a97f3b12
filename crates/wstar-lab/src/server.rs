//! The HTTP server. It listens on the loopback interface, serves one page and limits the number of concurrent
//! requests.
//!
//! A request is a POST with a JSON body. The response is newline-delimited JSON: any number of `{"progress": …}` and
//! `{"row": …}`, then one `{"answer": …}` or `{"error": …}`. Closing the connection cancels the fit at its next step.
//! Requests with a foreign `Host` or `Origin` are refused, so that no other site can use the server through the user's
//! browser.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_core::Stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::plane::Plane;
use crate::trace::Line;
use crate::wording::Controls;
use crate::{compare, fit, judge, page, plane, separate, surface};

/// Bytes of a request body; enough for a file of half a million points. Cap: a larger body is refused.
const LARGEST: usize = 32 << 20;
/// Number of concurrent requests. Cap: further requests are refused until one ends.
const MOST_REQUESTS: usize = 8;

/// A server that is bound to a port and not yet running.
pub struct Lab {
    listener: TcpListener,
    port: u16,
}

impl Lab {
    /// Binds to a port of the loopback interface; `0` picks a free port.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Lab { listener, port })
    }

    /// The URL of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Serves until the process ends.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            axum::serve(listener, router(self.port)).await
        })
    }
}

/// State shared by all requests.
struct Shared {
    /// Accepted values of the `Host` header.
    hosts: [String; 2],
    /// One permit for each request that may still start.
    free: Arc<Semaphore>,
}

fn router(port: u16) -> Router {
    let shared = Arc::new(Shared {
        hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
        free: Arc::new(Semaphore::new(MOST_REQUESTS)),
    });
    Router::new()
        .route("/", get(|| async { file("index.html") }))
        .route(
            "/{*path}",
            get(|Path(path): Path<String>| async move { file(&path) }),
        )
        .route("/api/sets", get(|| async { plane::sets().to_string() }))
        .route("/api/read", post(read))
        .route("/api/{name}", post(ask))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Refuses requests that do not come from the embedded page, and adds the security headers to every response.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match is_ours(request.headers(), &shared.hosts) {
        true => next.run(request).await,
        false => refusal(
            StatusCode::FORBIDDEN,
            "this server accepts requests from its own page only",
        )
        .into_response(),
    };
    let security = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in security {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_ours(headers: &HeaderMap, hosts: &[String]) -> bool {
    let known = |host: &HeaderValue| hosts.iter().any(|known| host == known.as_str());
    let own_page = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let host = origin.strip_prefix("http://").unwrap_or_default();
        hosts.iter().any(|known| known == host)
    };
    headers.get(header::HOST).is_some_and(known)
        && headers.get_all(header::HOST).iter().count() == 1
        && headers.get_all(header::ORIGIN).iter().all(own_page)
}

fn file(path: &str) -> Result<Response, Refusal> {
    let found = page::file(path);
    let (kind, content) = found.ok_or_else(|| refusal(StatusCode::NOT_FOUND, "there is no such file"))?;
    Ok(([(header::CONTENT_TYPE, kind)], content).into_response())
}

/// The error response to a request that is refused.
struct Refusal {
    status: StatusCode,
    message: String,
}

fn refusal(status: StatusCode, message: impl Into<String>) -> Refusal {
    Refusal {
        status,
        message: message.into(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let line = format!("{}\n", json!({"error": self.message}));
        let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
        (self.status, kind, line).into_response()
    }
}

/// The body of a request, if its content type is `kind`. Browsers send neither content type used here to another origin
/// without a CORS preflight request.
async fn body(request: Request, kind: &str) -> Result<Bytes, Refusal> {
    let given = request.headers().get(header::CONTENT_TYPE);
    if given.is_none_or(|given| given != kind) {
        let message = format!("the content type must be {kind}");
        return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let whole = to_bytes(request.into_body(), LARGEST).await;
    whole.map_err(|_| {
        let message = format!("the request body is larger than {} MB", LARGEST >> 20);
        refusal(StatusCode::PAYLOAD_TOO_LARGE, message)
    })
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|error| refusal(StatusCode::BAD_REQUEST, format!("malformed request: {error}")))
}

/// The computation that answers a request.
type Work = Box<dyn FnOnce(&Line<'_>) -> wstar::data::error::Result<Value> + Send>;

async fn ask(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let bytes = body(request, "application/json").await?;
    answer(&shared, work(&name, &bytes)?)
}

fn work(name: &str, bytes: &[u8]) -> Result<Work, Refusal> {
    Ok(match name {
        "data" => {
            let data = parsed(bytes)?;
            Box::new(|_| Ok(json!(Plane::of(data)?)))
        }
        "fit" => {
            let request = parsed(bytes)?;
            Box::new(|line| fit::fit(request, line))
        }
        "separate" => {
            let request = parsed(bytes)?;
            Box::new(|line| separate::separate(request, line))
        }
        "compare" => {
            let request = parsed(bytes)?;
            Box::new(|line| compare::compare(request, line))
        }
        "judge" => {
            let request = parsed(bytes)?;
            Box::new(|_| judge::judge(request))
        }
        "surface" => {
            let request = parsed(bytes)?;
            Box::new(|line| surface::surface(request, line))
        }
        _ => return Err(refusal(StatusCode::NOT_FOUND, "there is no such request")),
    })
}

/// Query parameters of `/api/read`: the name of the file, and the two columns to draw.
#[derive(Deserialize)]
struct Named {
    name: String,
    first: Option<String>,
    second: Option<String>,
}

async fn read(
    State(shared): State<Arc<Shared>>,
    Query(named): Query<Named>,
    request: Request,
) -> Result<Response, Refusal> {
    let bytes = body(request, "application/octet-stream").await?;
    let work = move |_: &Line<'_>| {
        let columns = named.first.zip(named.second).map(|(a, b)| [a, b]);
        Ok(json!(Plane::of_file(&named.name, &bytes, columns.as_ref())?))
    };
    answer(&shared, Box::new(work))
}

/// Runs `work` on a blocking thread and streams its messages as they are produced.
fn answer(shared: &Shared, work: Work) -> Result<Response, Refusal> {
    let permit = Arc::clone(&shared.free).try_acquire_owned().map_err(|_| {
        let message = "too many fits are running: wait until one ends";
        refusal(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    let gone = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel::<Bytes>(64);
    let line_gone = Arc::clone(&gone);
    tokio::task::spawn_blocking(move || {
        let send = |value: Value| {
            // Sending fails if the client has disconnected; the fit then stops at its next step.
            let _ = sender.blocking_send(Bytes::from(format!("{value}\n")));
        };
        let line = Line {
            tell: &send,
            gone: line_gone,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&line)));
        send(match outcome {
            Ok(Ok(answer)) => json!({"answer": answer}),
            Ok(Err(error)) => json!({"error": error.worded(&Controls)}),
            Err(_) => json!({"error": "an internal error: please report it with this page's address"}),
        });
        drop(permit);
    });
    let lines = Lines { receiver, gone };
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, Body::from_stream(lines)).into_response())
}

/// The response body. It is dropped when the client disconnects, and sets `gone` then.
struct Lines {
    receiver: mpsc::Receiver<Bytes>,
    gone: Arc<AtomicBool>,
}

impl Stream for Lines {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context).map(|line| line.map(Ok))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}
