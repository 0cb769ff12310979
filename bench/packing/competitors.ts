/** Who is measured: our packing, our fetching alone, and what people use today. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { bundle } from './bundle.ts';
import type { PeerTools } from './peer-tools.ts';

const HERE = import.meta.dirname;

export interface Tool {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where its shards lie; undefined for one that only reads. */
  readonly output: string | undefined;
  readonly isOurs: boolean;
}

const OURS = 'tidewheel';
const OVER_UNDICI = 'tidewheel over undici';
const FLOOR_OF_CLIENT = "floor: 5 MiB of each file in and out over Node's client";
const FLOOR_OF_SOCKET = 'floor: 5 MiB of each file in and out over one socket';
const OUR_FETCH = 'tidewheel, fetching alone';
const S5CMD = 's5cmd and GNU tar';
const SDK = 'client-s3 v3 and tar-stream';
const BOTO3 = 'boto3 and webdataset';
const CRT = 'AWS CRT, fetching alone';

/** As serverless.yml gives it to the functions that pack. */
const LAMBDA = { NODE_OPTIONS: '--enable-source-maps --max-semi-space-size=16' };

export function competitors({ folder, python, s5cmd }: PeerTools): readonly Tool[] {
  const bundles = path.join(folder, 'bundles');
  const node = (file: string): string[] => [process.execPath, bundle(path.join(HERE, file), bundles)];
  if (!existsSync(s5cmd)) throw new Error(`${s5cmd} is missing: remove ${folder} and start again`);
  const ours: Tool = {
    name: OURS,
    command: node('ours.ts'),
    environment: LAMBDA,
    output: 'bench/dataset/bench-000001/shards/',
    isOurs: true,
  };
  const floor = { command: node('floor/floor.ts'), output: undefined, isOurs: true };
  return [
    ours,
    { ...ours, name: OVER_UNDICI, environment: { ...LAMBDA, READS: 'undici' } },
    { ...floor, name: FLOOR_OF_CLIENT, environment: { ...LAMBDA, FLOOR: 'client' } },
    { ...floor, name: FLOOR_OF_SOCKET, environment: { ...LAMBDA, FLOOR: 'socket' } },
    { name: OUR_FETCH, command: node('fetch-only.ts'), environment: LAMBDA, output: undefined, isOurs: true },
    {
      name: S5CMD,
      command: ['sh', path.join(HERE, 'peers/s5cmd-tar.sh')],
      environment: { S5CMD: s5cmd },
      output: 'out/',
      isOurs: false,
    },
    { name: SDK, command: node('peers/sdk-tar-stream.ts'), output: 'out/', isOurs: false },
    {
      name: BOTO3,
      command: [python, path.join(HERE, 'peers/webdataset_boto3.py')],
      output: 'out/',
      isOurs: false,
    },
    { name: CRT, command: [python, path.join(HERE, 'peers/crt_fetch.py')], output: undefined, isOurs: false },
  ];
}
