/** Clocks of hosts that share this machine: real processes use CPU time, however much of it they get. */
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { type Host, planHosts } from '../../../sagemaker/hosts/container.ts';
import { clockedVcpus, startHostClocks } from '../../../sagemaker/hosts/host-clocks.ts';
import { startHost } from '../../../sagemaker/hosts/host-process.ts';
import { readLines } from '../../../sagemaker/hosts/lines.ts';
import { plainRequest } from '../../unit/sagemaker/requests.ts';

/** CPU seconds of each process. */
const EACH = 0.4;
/** Processes that work at the same time, or wait by the machine's clock; prints what the host's clock says of it. */
const PROGRAM = `
import multiprocessing, os, struct, sys, time
clock, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def now():
    with open(clock, "rb") as file:
        file.seek(-16, os.SEEK_END)
        return struct.unpack("=2d", file.read(16))[1]
def work():
    while time.process_time() < ${EACH}: pass
multiprocessing.set_start_method("fork")
while not os.path.exists(clock) or os.path.getsize(clock) < 32: time.sleep(0.01)
time.sleep(0.1)
begin = now()
if kind == "work":
    working = [multiprocessing.Process(target=work) for _ in range(count)]
    for each in working: each.start()
    for each in working: each.join()
else:
    time.sleep(${EACH})
time.sleep(0.01)
print(now() - begin, flush=True)
`;

interface Asked {
  readonly kind: 'work' | 'wait';
  readonly processes: number;
  readonly vcpus: number;
}

let folder: string;
const problems: string[] = [];
beforeEach(() => {
  folder = folderOfTest('clocks');
});
afterEach(async () => {});

const hostsOf = (count: number) =>
  planHosts(
    plainRequest({
      ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: count, VolumeSizeInGB: 1 },
    }),
    { job: folder, temporary: folder },
    0,
  );

async function started(host: Host, { kind, processes, vcpus }: Asked) {
  await mkdir(host.root, { recursive: true });
  const python = projectPython();
  const running = startHost(python, {
    command: [python, '-c', PROGRAM, path.join(host.root, 'clock'), kind, String(processes)],
    environment: { TMPDIR: folder },
    directory: host.root,
    optMl: null,
  });
  const lines: string[] = [];
  const read = readLines(running.stdout, (line) => lines.push(line));
  const seconds = Promise.all([read, running.exited]).then(() => Number(lines[0]));
  return { clocked: { host, vcpus, pid: running.supervisorPid ?? 0 }, seconds };
}

/** Seconds of each host's clock. */
async function secondsOf(asked: readonly Asked[]): Promise<readonly number[]> {
  const hosts = hostsOf(asked.length);
  const running = await Promise.all(
    hosts.map((host, index) => started(host, asked[index] ?? { kind: 'wait', processes: 1, vcpus: 1 })),
  );
  const clocks = startHostClocks(
    projectPython(),
    running.map(({ clocked }) => clocked),
    (line) => problems.push(line),
  );
  const seconds = await Promise.all(running.map((each) => each.seconds));
  clocks.stop();
  expect(problems).toEqual([]);
  return seconds;
}

const about = (seconds: number) => expect.closeTo(seconds, 0.6);

test('four processes take half as long on four vCPUs', async () => {
  const seconds = await secondsOf([
    { kind: 'work', processes: 4, vcpus: 2 },
    { kind: 'work', processes: 4, vcpus: 4 },
  ]);
  expect((seconds[0] ?? 0) / (seconds[1] ?? 1)).toBeGreaterThan(1.5);
  for (const [place, due] of [2 * EACH, EACH].entries()) {
    expect(seconds[place]).toBeGreaterThan(0.8 * due);
    expect(seconds[place]).toBeLessThan(1.3 * due);
  }
});

test('one process is no faster on more vCPUs', async () => {
  expect(await secondsOf([{ kind: 'work', processes: 1, vcpus: 8 }])).toEqual([about(EACH)]);
});

test('a wait takes as long as on the machine', async () => {
  expect(await secondsOf([{ kind: 'wait', processes: 1, vcpus: 2 }])).toEqual([about(EACH)]);
});

test('hosts far larger than this machine have no clocks', () => {
  const most = 8 * os.availableParallelism();
  expect(clockedVcpus(hostsOf(2), () => most)).toEqual([most, most]);
  expect(clockedVcpus(hostsOf(1), () => most + 1)).toBeUndefined();
  expect(clockedVcpus(hostsOf(2), () => undefined)).toBeUndefined();
});
