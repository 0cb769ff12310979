/**
 * Our packing beside what people use today, on the same made-up S3, in one run: `npm run bench:packing [-- --json]`.
 * Options: --files 20000 --bytes 10000 --rounds 3 --only ours,s5cmd. Outputs are compared before anything is timed.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { parseArgs, promisify } from 'node:util';
import { buildSync } from 'esbuild';
import tar from 'tar-stream';
import { pythonTools } from './python-tools.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;

interface Tool {
  readonly name: string;
  readonly command: readonly string[];
  /** Where its shards lie; undefined for one that only reads. */
  readonly output: string | undefined;
}

interface Measured {
  readonly code: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly errors: string;
}

interface Control {
  readonly requests: Record<string, number>;
  readonly stored: [string, number][];
}

interface Figures {
  readonly tool: string;
  readonly rounds: number;
  readonly filesPerSecond: number;
  readonly cpuMicrosecondsPerFile: number;
  /** Least and greatest of the rounds. */
  readonly cpuSpread: readonly [number, number];
  readonly peakMegabytes: number;
  readonly requests: number;
  readonly outputBytes: number;
}

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '20000' },
    bytes: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [files, bytes, rounds] = [Number(values.files), Number(values.bytes), Number(values.rounds)];
/** Every tool is bounded alike: 256 MB of tar. */
const filesPerShard = Math.max(1, Math.floor(256e6 / (bytes + 1_024)));

const tools = await pythonTools();
const bin = path.join(tools, 'bin');
const node = process.execPath;
/** Node programs run bundled, ours and the peers' alike, as they would in a Lambda: loading sources costs 0.7 s. */
const bundled = (file: string): string => {
  const outfile = path.join(tools, 'bundles', `${path.basename(file, '.ts')}.mjs`);
  const banner = {
    js: "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);",
  };
  buildSync({
    entryPoints: [path.join(HERE, file)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner,
  });
  return outfile;
};
const TOOLS: readonly Tool[] = [
  {
    name: 'tidewheel',
    command: [node, bundled('ours.ts')],
    output: 'bench/dataset/bench-000001/shards/',
  },
  { name: 'tidewheel, fetching alone', command: [node, bundled('fetch-only.ts')], output: undefined },
  { name: 's5cmd and GNU tar', command: ['sh', path.join(HERE, 'peers/s5cmd-tar.sh')], output: 'out/' },
  {
    name: 'client-s3 v3 and tar-stream',
    command: [node, bundled('peers/sdk-tar-stream.ts')],
    output: 'out/',
  },
  {
    name: 'boto3 and webdataset',
    command: [path.join(bin, 'python'), path.join(HERE, 'peers/webdataset_boto3.py')],
    output: 'out/',
  },
  {
    name: 'AWS CRT, fetching alone',
    command: [path.join(bin, 'python'), path.join(HERE, 'peers/crt_fetch.py')],
    output: undefined,
  },
].filter(
  ({ name }) => values.only === undefined || values.only.split(',').some((wanted) => name.includes(wanted)),
);

/** Server on one core, client on the other, where there are two and taskset. */
const pinned = (core: number, command: readonly string[]): string[] =>
  os.availableParallelism() > 1 ? ['taskset', '-c', String(core), ...command] : [...command];

async function startServer(): Promise<{ url: string; control: string; stop: () => void }> {
  const [program = '', ...rest] = pinned(0, [
    node,
    path.join(HERE, 'serve.ts'),
    String(files),
    String(bytes),
  ]);
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve) =>
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  );
  const { url, control } = JSON.parse(line) as { url: string; control: string };
  return { url, control, stop: () => child.kill() };
}

const server = await startServer();
const environment = {
  ...process.env,
  ENDPOINT: server.url,
  AWS_ENDPOINT_URL_S3: server.url,
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_REGION: 'us-east-1',
  /** Spares the peers the checksum trailers that their newest versions add. */
  AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
  AWS_RESPONSE_CHECKSUM_VALIDATION: 'when_required',
  FILES_PER_SHARD: String(filesPerShard),
  PATH: `${bin}:${process.env['PATH'] ?? ''}`,
};
const empty = () => fetch(server.control, { method: 'DELETE' });
const look = async (): Promise<Control> => (await (await fetch(server.control)).json()) as Control;

async function once(tool: Tool): Promise<Measured> {
  await empty();
  const command = ['python3', path.join(HERE, 'peers/measure.py'), ...pinned(1, tool.command)];
  const { stdout } = await run(command[0] ?? '', command.slice(1), { env: environment, maxBuffer: 64e6 });
  const measured = JSON.parse(stdout) as Measured;
  if (measured.code !== 0) throw new Error(`${tool.name} failed: ${measured.errors}`);
  return measured;
}

/** Member name to digest over all shards of an output. */
async function contentsOf(prefix: string): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  for (const [key] of (await look()).stored.filter(([stored]) => stored.startsWith(prefix))) {
    const body = await (await fetch(`${server.url}/bench/${key}`)).arrayBuffer();
    const extract = tar.extract();
    Readable.from([Buffer.from(body)]).pipe(extract);
    for await (const entry of extract) {
      const digest = createHash('sha256');
      for await (const chunk of entry) digest.update(chunk as Buffer);
      contents.set(entry.header.name, digest.digest('hex'));
    }
  }
  return contents;
}

async function proveEqual(): Promise<void> {
  let expected: Map<string, string> | undefined;
  for (const tool of TOOLS) {
    await once(tool);
    if (tool.output === undefined) continue;
    const contents = await contentsOf(tool.output);
    if (contents.size !== files) throw new Error(`${tool.name} packed ${contents.size} of ${files} files`);
    expected ??= contents;
    for (const [name, digest] of expected) {
      if (contents.get(name) !== digest) throw new Error(`${tool.name} holds other bytes for ${name}`);
    }
  }
}

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

function figuresOf(tool: Tool, all: readonly Measured[], seen: Control): Figures {
  const perFile = all.map(({ cpuSeconds }) => (cpuSeconds / files) * 1e6);
  const output = seen.stored.filter(([key]) => tool.output !== undefined && key.startsWith(tool.output));
  return {
    tool: tool.name,
    rounds: all.length,
    filesPerSecond: Math.round(files / median(all.map(({ seconds }) => seconds))),
    cpuMicrosecondsPerFile: Math.round(median(perFile)),
    cpuSpread: [Math.round(Math.min(...perFile)), Math.round(Math.max(...perFile))],
    peakMegabytes: Math.round(Math.max(...all.map(({ peakBytes }) => peakBytes)) / 1e6),
    requests: Object.values(seen.requests).reduce((sum, count) => sum + count, 0),
    outputBytes: output.reduce((sum, [, size]) => sum + size, 0),
  };
}

try {
  await proveEqual();
  const measured = new Map<Tool, Measured[]>(TOOLS.map((tool) => [tool, []]));
  const seen = new Map<Tool, Control>();
  for (let round = 0; round < rounds; round += 1) {
    const order = TOOLS.toSorted(() => Math.random() - 0.5);
    for (const tool of order) {
      measured.get(tool)?.push(await once(tool));
      seen.set(tool, await look());
    }
  }
  const table = TOOLS.map((tool) =>
    figuresOf(tool, measured.get(tool) ?? [], seen.get(tool) ?? { requests: {}, stored: [] }),
  );
  if (values.json)
    console.log(JSON.stringify({ files, bytes, machine: os.cpus()[0]?.model, figures: table }, undefined, 1));
  else console.table(table.map(({ cpuSpread, ...rest }) => ({ ...rest, cpuSpread: cpuSpread.join('-') })));
} finally {
  server.stop();
}
