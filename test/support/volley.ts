/** Broken requests and raw bytes at every port of a region: none may end a server, pass one or fill its memory. */
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { randomBelow, seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { listenersOf, treeOf } from './listening.ts';

export interface Volley {
  readonly ports: number;
  readonly sent: number;
  /** What was answered without a signature, and answers of a failed server. */
  readonly wrong: readonly string[];
  /** Ports that no longer answer. */
  readonly silent: readonly number[];
  /** Of the server that grew most. */
  readonly grownMegabytes: number;
}

interface Given {
  /** To each port. */
  readonly count: number;
  readonly seed: number;
}

const AT_ONCE = 48;
const PATIENCE_MILLISECONDS = 400;

/** @param root the process of the region's start */
export async function volley(root: number, { count, seed }: Given): Promise<Volley> {
  const listeners = (await listenersOf(await serversOf(root))).map(({ pid, address }) => ({
    pid,
    port: Number.parseInt(address.slice(address.indexOf(':') + 1), 16),
  }));
  const pids = [...new Set(listeners.map(({ pid }) => pid))];
  const before = await Promise.all(pids.map(startOfPeak));
  const wrong: string[] = [];
  for (const { port } of listeners) {
    const random = drawn(`${seed} ${port}`);
    let left = count;
    const lane = async (): Promise<void> => {
      for (; left > 0; left -= 1) {
        const request = hostile(random, port);
        const answered = await send(port, request, random.below(4) === 0);
        if (isWrong(answered)) wrong.push(`${port}: ${shown(request)} -> ${shown(answered)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }
  const grown = await Promise.all(pids.map(async (pid, index) => (await peakOf(pid)) - (before[index] ?? 0)));
  const plain = Buffer.from('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');
  const silent: number[] = [];
  for (const { port } of listeners)
    if (!(await send(port, plain, false, 10_000)).startsWith('HTTP/1.1 ')) silent.push(port);
  return {
    ports: listeners.length,
    sent: listeners.length * count,
    wrong,
    silent,
    grownMegabytes: Math.round(Math.max(...grown) / 2 ** 20),
  };
}

/** Without what a script opens beside them. */
async function serversOf(root: number): Promise<readonly number[]> {
  const servers: number[] = [];
  for (const pid of await treeOf(root)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (pid === root || /cli\/start\.ts|emulator\.py/.test(command)) servers.push(pid);
  }
  return servers;
}

/** A method or a version that no server knows is answered with 501 and 505. */
const isWrong = (answered: string): boolean =>
  [...answered.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].some(([, status = '']) =>
    /^([23]|50[^15])/.test(status),
  );
const shown = (text: Buffer | string): string => JSON.stringify(text.toString('latin1').slice(0, 300));

/** Kernels keep the most memory that a process had, since the last write of 5. */
async function startOfPeak(pid: number): Promise<number> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  return peakOf(pid);
}

/** 0 for a process that has ended: its port is silent. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}

async function send(
  port: number,
  bytes: Buffer,
  leaves: boolean,
  patience = PATIENCE_MILLISECONDS,
): Promise<string> {
  const chunks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1')
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise((resolve) => void socket.on('close', resolve));
  const timer = setTimeout(() => socket.destroy(), patience);
  if (leaves) socket.write(bytes, () => socket.destroySoon());
  else socket.end(bytes);
  await closed;
  clearTimeout(timer);
  return Buffer.concat(chunks).toString('latin1');
}

interface Drawn {
  readonly below: (bound: number) => number;
  readonly one: <T>(items: readonly [T, ...T[]]) => T;
  readonly bytes: (length: number) => Buffer;
}

function drawn(seed: string): Drawn {
  const next = seededUint32(seed);
  const below = (bound: number): number => randomBelow(next, bound);
  return {
    below,
    one: (items) => items[below(items.length)] ?? items[0],
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  };
}

const METHODS = [
  'GET',
  'PUT',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'BREW',
  'get',
] as const;
const PLACES = [
  '/',
  '//',
  '/?token=',
  '/api/runs',
  '/api/runs/..\\pipelines\\x#/limits',
  '/api/%2e%2e/pipelines/x',
  '/pipelines/x.yaml',
  '/jobs',
  '/interruptions',
  '/_ministack/reset',
  '/_ministack/config',
  '/_aws/execute-api/deadbeef/runs',
  '/restapis/a%2fb/c/_user_request_/',
  '/2015-03-31/functions/x/invocations',
  '/?Action=RunInstances&Version=2016-11-15',
  'http://evil.example/',
  '//[::bad/',
  '*',
] as const;
const HOSTS = [
  '127.0.0.1',
  'localhost',
  'evil.example',
  'deadbeef.execute-api.localhost',
  '',
  '[::1',
  'é',
] as const;
const HEADERS = [
  'origin: http://evil.example',
  'cookie: tidewheel-4580=éééé',
  'content-length: -1',
  'content-length: 99999999999999999999',
  'transfer-encoding: chunked, gzip',
  'upgrade: websocket\r\nconnection: upgrade',
  'expect: 100-continue',
  'x-amz-target: SageMaker.CreateTrainingJob',
  'x-amz-date: 20260101T000000Z',
  `authorization: AWS4-HMAC-SHA256 Credential=LOCALLOCALLOCALLOCAL/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`,
  'authorization: Bearer eyJhbGciOiJub25lIn0.e30.',
  'authorization: AWS AKIA:c2ln',
  'x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  'content-type: multipart/form-data; boundary=x',
  'content-encoding: gzip',
  ' folded: x',
  'no colon',
  'nul: \0',
] as const;
const BODIES = [
  '',
  '{"run":"x","kill":true}',
  'Action=TerminateInstances&InstanceId.1=i-1',
  'ZZ\r\n',
  'ffffffffffffffff\r\nx',
  '5\r\nabc',
  '0\r\nx: y\r\n\r\nGET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n',
  '[[[[[[[[[[',
  '--x\r\ncontent-disposition: form-data; name="policy"\r\n\r\n',
] as const;
const STRANGERS = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0002\0\u0001',
  '*1\r\n$4\r\nPING\r\n',
  '\u0005\u0001\0',
] as const;

function hostile(random: Drawn, port: number): Buffer {
  const kind = random.below(8);
  if (kind === 0) return random.bytes(1 + random.below(2_048));
  if (kind === 1) return Buffer.concat([Buffer.from(random.one(STRANGERS), 'latin1'), random.bytes(64)]);
  const whole = requestOf(random, port);
  if (kind === 2) return whole.subarray(0, random.below(whole.length));
  if (kind > 4) return whole;
  const changed = Buffer.from(whole);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1)
    changed[random.below(changed.length)] = random.below(256);
  return changed;
}

function requestOf(random: Drawn, port: number): Buffer {
  const place =
    random.one(PLACES) + random.one(['', '', '%C3%A9'.repeat(32), '%', '%00', `?${'a=b&'.repeat(200)}`]);
  const host = random.one(HOSTS) + random.one(['', `:${port}`]);
  const headers: string[] = Array.from({ length: random.below(5) }, () => random.one(HEADERS));
  if (random.below(12) === 0)
    headers.push(...Array.from({ length: 500 }, (_, at) => `x-${at}: ${'y'.repeat(100)}`));
  if (random.below(12) === 0) headers.push(`x: ${'y'.repeat(random.below(200_000))}`);
  if (random.below(2) === 0) headers.push('transfer-encoding: chunked');
  const body = random.one(BODIES) + 'x'.repeat(random.below(24) === 0 ? random.below(500_000) : 0);
  const head = [
    `${random.one(METHODS)} ${place} HTTP/${random.one(['1.1', '1.1', '1.0', '9.9'])}`,
    `host: ${host}`,
  ];
  return Buffer.from([...head, ...headers, '', body].join('\r\n'), 'latin1');
}
