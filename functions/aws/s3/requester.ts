/** Signs, sends, checks and retries single requests. It corrects the clock and renews credentials when S3 refuses them. */

import { isIntact } from './checksum.ts';
import type { BucketAddress } from './endpoint.ts';
import {
  classify,
  isRetryable,
  type S3Error,
  type S3Failure,
  S3SignatureStale,
  S3Throttled,
} from './errors.ts';
import { type Answer, bodyText, type Exchange, headerOf, type Transport } from './http-transport.ts';
import type { Pacer } from './pacer.ts';
import { encodeKey, encodeValue, type S3Credentials, Signer } from './sigv4.ts';
import { parseError } from './xml.ts';

/** Clock, randomness and sleep, passed in so that tests control them. */
export interface World {
  /** Milliseconds since 1970. */
  now(): number;
  random(): number;
  sleep(milliseconds: number): Promise<void>;
}

export interface RetryPolicy {
  /** All tries together, the first included. */
  readonly attempts: number;
  readonly baseMilliseconds: number;
  readonly maximumMilliseconds: number;
}

const DEFAULT_RETRY: RetryPolicy = { attempts: 10, baseMilliseconds: 50, maximumMilliseconds: 10_000 };

/** Full jitter: uniform between nothing and a bound that doubles. Throttling starts four times higher. */
function delayMilliseconds(policy: RetryPolicy, attempt: number, error: unknown, random: number): number {
  const base = error instanceof S3Throttled ? policy.baseMilliseconds * 4 : policy.baseMilliseconds;
  if (error instanceof S3SignatureStale) return 0;
  return Math.floor(random * Math.min(policy.maximumMilliseconds, base * 2 ** (attempt - 1)));
}

export interface RequesterOptions {
  readonly address: BucketAddress;
  readonly region: string;
  /** Called with `refresh` when the service says that the credentials expired. It may cache. */
  readonly credentials: (refresh: boolean) => Promise<S3Credentials>;
  readonly transport: Transport;
  readonly world: World;
  readonly retry?: RetryPolicy | undefined;
  /** Holds requests back when S3 asks for a slower pace. */
  readonly pacer?: Pacer | undefined;
}

export interface S3Request {
  readonly operation: string;
  readonly method: Exchange['method'];
  readonly key: string;
  /** Sorted by name. */
  readonly query?: readonly (readonly [string, string])[];
  readonly amzHeaders?: readonly (readonly [string, string])[];
  /** Names and values in turn; sent unsigned. */
  readonly headers?: readonly string[];
  readonly body?: Uint8Array | undefined;
  /** Statuses that are answers rather than failures. */
  readonly accept: readonly number[];
  /** Compare the body with the checksum that S3 sends. */
  readonly verify?: boolean;
  /** Names the damage of an accepted answer, which is then requested again. */
  readonly damage?: ((answer: Answer) => string | undefined) | undefined;
  /** A good answer's body has exactly this length. */
  readonly size?: number | undefined;
  /** Where a body of exactly this length may be put. */
  readonly into?: Uint8Array | undefined;
  /** A longer object is a refusal, BodyTooLong, and is not read. */
  readonly mostBytes?: number | undefined;
}

const networkCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'NetworkError';

type Place = Pick<S3Failure, 'operation' | 'key' | 'at'>;

/** No answer came. */
const lost = (place: Place, error: unknown): Error =>
  classify({ ...place, status: 0, code: networkCode(error) }, { cause: error });

const sendOver = (transport: Transport, exchange: Exchange, placeOf: () => Place): Promise<Answer> =>
  new Promise((answered, reject) =>
    transport.dispatch(exchange, { answered, failed: (error) => reject(lost(placeOf(), error)) }),
  );

const itself = (answer: Answer): Answer => answer;

/** The damage of a body that came with a good status. */
function damageOf(request: S3Request, answer: Answer): string | undefined {
  const announced = headerOf(answer, 'content-length');
  if (request.method !== 'HEAD' && announced !== '' && Number(announced) !== answer.size)
    return 'TruncatedBody';
  if (request.size !== undefined && answer.status < 300 && answer.size !== request.size) return 'OtherLength';
  if (request.verify && !isIntact(answer.headers, answer.chunks)) return 'ChecksumMismatch';
  return request.damage?.(answer);
}

/** S3 refuses a skew of 15 minutes. A skew below this is not corrected. */
const SKEW_TO_CORRECT_MILLISECONDS = 60_000;
/** Credentials are requested again after this time, which is short beside their lifetime. */
const ASK_AGAIN_MILLISECONDS = 1_000;
/** S3 does not refuse credentials younger than this for their age. */
const SURELY_FRESH_MILLISECONDS = 60_000;
const NOTHING: readonly [] = [];

const queryText = (query: readonly (readonly [string, string])[]): string =>
  query.map(([name, value]) => `${encodeValue(name)}=${encodeValue(value)}`).join('&');

export class Requester {
  readonly #options: RequesterOptions;
  readonly #signer: Signer;
  #skewMilliseconds = 0;
  #staleCredentials = false;
  /** Undefined while new credentials replace expired ones. */
  #secret: S3Credentials | undefined;
  #asking: Promise<S3Credentials> | undefined;
  #askAgainAt = 0;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.#signer = new Signer(options.region);
  }

  /**
   * Sends until an accepted status comes, and otherwise throws the classified error. Each try takes its own turn with the
   * pacer, so a request that waits for its next try blocks no other. `read` turns the answer into the caller's result
   * here, since each further await takes a microsecond.
   */
  send(request: S3Request): Promise<Answer>;
  send<T>(request: S3Request, read: (answer: Answer) => T): Promise<T>;
  async send(request: S3Request, read: (answer: Answer) => unknown = itself): Promise<unknown> {
    const { retry = DEFAULT_RETRY, world, pacer, transport } = this.#options;
    let accepted: Answer | undefined;
    for (let attempt = 1; accepted === undefined; attempt += 1) {
      const turn = pacer?.enter();
      if (turn !== undefined) await turn;
      let failure: unknown;
      try {
        const signedAt = world.now() + this.#skewMilliseconds;
        const secret = this.#freshSecret(signedAt) ?? (await this.#askSecret(signedAt));
        const exchange = this.#exchange(request, secret, signedAt);
        const answer = await sendOver(transport, exchange, () => this.#placeOf(request));
        accepted = this.#judge(request, answer, signedAt);
        pacer?.leave(false);
        break;
      } catch (error: unknown) {
        failure = error;
        pacer?.leave(failure instanceof S3Throttled);
      }
      if (attempt >= retry.attempts || !isRetryable(failure)) throw failure;
      await world.sleep(delayMilliseconds(retry, attempt, failure, world.random()));
    }
    return read(accepted);
  }

  #freshSecret(now: number): S3Credentials | undefined {
    return this.#staleCredentials || now >= this.#askAgainAt ? undefined : this.#secret;
  }

  /** Concurrent requests share one call: a thousand that see expired credentials renew them once. */
  async #askSecret(now: number): Promise<S3Credentials> {
    const refresh = this.#staleCredentials;
    if (this.#asking !== undefined && !refresh) return this.#asking;
    this.#staleCredentials = false;
    if (refresh) {
      this.#refreshedAt = now;
      this.#secret = undefined;
    }
    const asking = this.#options.credentials(refresh);
    this.#asking = asking;
    try {
      const secret = await asking;
      if (this.#asking === asking) this.#secret = secret;
      this.#askAgainAt = now + ASK_AGAIN_MILLISECONDS;
      return secret;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  #exchange(request: S3Request, secret: S3Credentials, signedAt: number): Exchange {
    const { address } = this.#options;
    const { method, amzHeaders = NOTHING, body, into, mostBytes } = request;
    const path = `${address.basePath}/${encodeKey(request.key)}`;
    const query = request.query === undefined ? '' : queryText(request.query);
    const headers = this.#signer.sign(
      { method, path, query, host: address.host, amzHeaders },
      secret,
      signedAt,
    );
    if (request.headers !== undefined) headers.push(...request.headers);
    return { method, path: query === '' ? path : `${path}?${query}`, headers, body, into, mostBytes };
  }

  #judge(request: S3Request, answer: Answer, signedAt: number): Answer {
    if (request.accept.includes(answer.status)) {
      const damage = damageOf(request, answer);
      if (damage === undefined) return answer;
      throw classify({ ...this.#placeOf(request), status: 0, code: damage });
    }
    const error = this.#errorOf(request, answer, signedAt);
    if (error instanceof S3SignatureStale && signedAt >= this.#refreshedAt) this.#staleCredentials = true;
    throw error;
  }

  #placeOf({ operation, key }: S3Request): Place {
    const { host, basePath } = this.#options.address;
    return { operation, key, at: host + basePath };
  }

  #errorOf(request: S3Request, answer: Answer, signedAt: number): S3Error {
    const { status } = answer;
    const said = request.method === 'HEAD' ? undefined : parseError(bodyText(answer));
    const code = said?.code || `HTTP${status}`;
    const requestId = headerOf(answer, 'x-amz-request-id');
    const failure = { ...this.#placeOf(request), status, code, requestId };
    const isSkewed = status === 403 && this.#adoptClock(answer, said?.serverTime, signedAt);
    const isStale = isSkewed || (said === undefined && this.#mayHaveExpired(answer, signedAt));
    return isStale ? new S3SignatureStale(failure) : classify(failure);
  }

  /** An answer to HEAD has no body with a reason, so the credentials are renewed once. */
  #mayHaveExpired({ status }: Answer, signedAt: number): boolean {
    const age = signedAt - this.#refreshedAt;
    return (status === 400 || status === 403) && (age < 0 || age > SURELY_FRESH_MILLISECONDS);
  }

  /** Adopts the service's clock if the request was signed far from it. True if it was. */
  #adoptClock(answer: Answer, serverTime: string | undefined, signedAt: number): boolean {
    const theirs = Date.parse(serverTime ?? headerOf(answer, 'date'));
    if (Number.isNaN(theirs) || Math.abs(theirs - signedAt) < SKEW_TO_CORRECT_MILLISECONDS) return false;
    this.#skewMilliseconds = theirs - this.#options.world.now();
    return true;
  }
}
