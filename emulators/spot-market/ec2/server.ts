/** Answers EC2's Query protocol for what the market knows; every other action goes on to the emulator unchanged. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { AccessKey } from '../../access/access-key.ts';
import { type LocalServer, serveLocally } from '../../access/local-server.ts';
import { signedBody } from '../../access/signature.ts';
import type { LocalClock } from '../../clock/clock.ts';
import {
  describeCapacityBlockOfferings,
  describeCapacityReservations,
  noteTarget,
  refusedByReservation,
} from './capacity-reservations.ts';
import { Ec2Error } from './ec2-error.ts';
import { describeInstanceTypes } from './instance-types.ts';
import { getSpotPlacementScores } from './placement-scores.ts';
import { describeSpotPriceHistory } from './price-history.ts';
import { type Ec2Query, readQuery } from './query.ts';
import type { Ec2Answer, MarketState, ServiceRequest } from './service.ts';
import type { VcpuGate } from './vcpu-gate.ts';
import { errorXml, responseXml } from './xml.ts';
import { describeAvailabilityZones } from './zones.ts';

export interface Ec2ServerOptions {
  readonly port: number;
  /** Where every other action is answered; without it they are refused. */
  readonly awsEndpointUrl?: string | undefined;
  /** The key that clients sign with. */
  readonly credentials: AccessKey;
  readonly market: MarketState;
  readonly clock: LocalClock;
  /** Whether a request of the action may pass, as EC2 limits them. Default: all may. */
  readonly mayPass?: ((action: string) => boolean) | undefined;
  /** Quotas of vCPUs. Default: no limit. Needs `awsEndpointUrl`. */
  readonly vcpus?: VcpuGate | undefined;
  readonly log: (line: string) => void;
}

const ACTIONS: Readonly<Record<string, (requested: ServiceRequest) => Ec2Answer>> = {
  GetSpotPlacementScores: getSpotPlacementScores,
  DescribeSpotPriceHistory: describeSpotPriceHistory,
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeAvailabilityZones: describeAvailabilityZones,
  DescribeCapacityReservations: describeCapacityReservations,
  DescribeCapacityBlockOfferings: describeCapacityBlockOfferings,
};

// Codes, status codes and messages as EC2 has them.
const UNSIGNED = new Ec2Error(
  'MissingParameter',
  'The request must contain the parameter AWSAccessKeyId',
  400,
);
const AUTH_FAILURE = new Ec2Error(
  'AuthFailure',
  'AWS was not able to validate the provided access credentials',
  401,
);

const TOO_LARGE = new Ec2Error('RequestEntityTooLarge', 'The request is too large.', 413);
const THROTTLED = new Ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503);

/** EC2's own requests are far smaller; user data is at most 16 KB. */
const LARGEST_BODY_BYTES = 1_048_576;

export const startEc2Server = (options: Ec2ServerOptions): Promise<LocalServer> =>
  serveLocally((request, response, url) => answer(request, response, { url, options }), {
    port: options.port,
    log: (line) => options.log(`EC2: ${line}`),
  });

async function answer(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { url, options }: Pick<Exchange, 'url' | 'options'>,
): Promise<void> {
  const body = await signedBody(request, url, { key: options.credentials, mostBytes: LARGEST_BODY_BYTES });
  if (!Buffer.isBuffer(body)) {
    sendError(response, body === 'unsigned' ? UNSIGNED : body === 'too-large' ? TOO_LARGE : AUTH_FAILURE);
    return;
  }
  const parameters = parametersOf(url, body);
  const name = parameters.get('Action') ?? '';
  if (options.mayPass?.(name) === false) {
    sendError(response, THROTTLED);
    return;
  }
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  const exchange = { request, response, url, body, options };
  try {
    const query = readQuery(parameters);
    if (!action) {
      await refuseOrLaunch(name, query, exchange);
      return;
    }
    const region = regionOf(request);
    const answered = action({ query, region, nowMs: options.clock.now(), market: options.market });
    if (query.isTrue('DryRun')) {
      throw new Ec2Error('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
    }
    sendAnswer(response, name, answered);
  } catch (error) {
    if (!(error instanceof Ec2Error)) throw error;
    sendError(response, error);
  }
}

interface Exchange {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  readonly url: URL;
  readonly body: Buffer;
  readonly options: Ec2ServerOptions;
}

const LAUNCHES: ReadonlySet<string> = new Set(['CreateFleet', 'RunInstances']);

/** @throws Ec2Error for a launch beyond a quota or a reservation */
async function refuseOrLaunch(action: string, query: Ec2Query, exchange: Exchange): Promise<void> {
  const { vcpus, market } = exchange.options;
  if (action === 'CreateLaunchTemplate') noteTarget(query, market);
  const full = action === 'CreateFleet' ? refusedByReservation(query, market) : undefined;
  if (full !== undefined) return sendAnswer(exchange.response, action, full);
  if (vcpus === undefined || !LAUNCHES.has(action)) return refuseOrPassOn(action, exchange);
  const refused = await vcpus.pass(action, query, () => refuseOrPassOn(action, exchange));
  if (refused !== undefined) sendAnswer(exchange.response, action, refused);
}

async function refuseOrPassOn(action: string, exchange: Exchange): Promise<void> {
  const { request, response, body, options } = exchange;
  if (options.awsEndpointUrl === undefined) {
    sendError(
      response,
      new Ec2Error('InvalidAction', `The action ${action} is not valid for this endpoint.`),
    );
    return;
  }
  try {
    await passOn(request, body, response, options.awsEndpointUrl);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    options.log(`EC2 ${action} could not be passed on to ${options.awsEndpointUrl}: ${reason}`);
    if (response.headersSent) response.destroy();
    else
      sendError(
        response,
        new Ec2Error('Unavailable', 'The server is overloaded and cannot handle the request.', 503),
      );
  }
}

/** POST carries them in the body, GET in the address; both are allowed together. */
function parametersOf(url: URL, body: Buffer): URLSearchParams {
  const parameters = new URLSearchParams(url.searchParams);
  for (const [name, value] of new URLSearchParams(body.toString())) parameters.append(name, value);
  return parameters;
}

/** A client signs for the region whose endpoint it believes to talk to. */
const regionOf = (request: http.IncomingMessage): string =>
  /Credential=[^/]+\/\d{8}\/([a-z0-9-]+)\//.exec(request.headers.authorization ?? '')?.[1] ?? '';

interface Reply {
  readonly status: number;
  readonly requestId: string;
  readonly xml: string;
}

function send(response: http.ServerResponse, { status, requestId, xml }: Reply): void {
  response.writeHead(status, {
    'content-type': 'text/xml;charset=UTF-8',
    'content-length': Buffer.byteLength(xml),
    'x-amzn-requestid': requestId,
  });
  response.end(xml);
}

function sendAnswer(response: http.ServerResponse, action: string, answered: Ec2Answer): void {
  const requestId = randomUUID();
  send(response, { status: 200, requestId, xml: responseXml(action, requestId, answered) });
}

function sendError(response: http.ServerResponse, error: Ec2Error): void {
  const requestId = randomUUID();
  send(response, { status: error.status, requestId, xml: errorXml(error.code, error.message, requestId) });
}

/** Of one connection, not of the message. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);
const TIMEOUT_MS = 60_000;

/** Sends a request on as it came: headers included, so that its signature stays valid, and the answer streamed back. */
async function passOn(
  request: http.IncomingMessage,
  body: Buffer,
  response: http.ServerResponse,
  endpointUrl: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const onward = http.request(new URL(request.url ?? '/', endpointUrl), {
    method: request.method,
    headers: { ...endToEnd(request.headers), 'content-length': body.length },
    timeout: TIMEOUT_MS,
  });
  onward.on('response', resolve);
  onward.on('error', reject);
  onward.on('timeout', () => onward.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
  onward.end(body);
  const answer = await promise;
  response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
  await pipeline(answer, response);
}

const endToEnd = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
