/**
 * What a command of the clone costs as a whole process, beside a bare Node: CPU and memory, medians of rounds in which each
 * runs once, so that a busy machine slows all alike.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { startApi } from '../../test/support/world/api-server.ts';
import { ground } from '../../test/support/world/ground.ts';
import { inWorkFolder } from '../work-folder.ts';

const USAGE = `npm run bench:start -- [OPTIONS]

Measures CPU and memory of commands, each a process of its own.

  --rounds N   21: runs each so many times and prints the medians`;

const schema = z.object({ rounds: wholeNumber(1).default(21) });

const PROGRAM = path.join(import.meta.dirname, '../../cli/tidewheel.mjs');
const NODE = process.execPath;
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'bare Node': [NODE, '--eval', '0'],
  help: [NODE, PROGRAM, 'help'],
  '--version': [NODE, PROGRAM, '--version'],
  'no such verb': [NODE, PROGRAM, 'lgos'],
  'no such option': [NODE, PROGRAM, 'stop', '--nwo'],
  runs: [NODE, PROGRAM, 'runs'],
};

/** Node does not say what its children cost. */
const MEASURE = `
import json, os, sys
commands = json.load(sys.stdin)
quiet = os.open(os.devnull, os.O_RDWR)
seen = {name: [] for name in commands}
for _ in range(int(sys.argv[1])):
    for name, command in commands.items():
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, at) for at in (0, 1, 2)])
        _, status, usage = os.wait4(child, 0)
        seen[name].append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status)))
print(json.dumps(seen))`;

const seenSchema = z.record(z.string(), z.array(z.tuple([z.number(), z.number(), z.number()])));

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function measure(rounds: number, env: NodeJS.ProcessEnv): Promise<z.output<typeof seenSchema>> {
  const run = (count: number): Promise<string> => {
    const python = spawn('python3', ['-c', MEASURE, String(count)], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    python.stdin.end(JSON.stringify(COMMANDS));
    return text(python.stdout);
  };
  // Builds the program and fills the compile cache.
  await run(2);
  return seenSchema.parse(JSON.parse(await run(rounds)));
}

await runCommand(USAGE, async (args) => {
  const { rounds } = readCommandLine(args, { schema }).values;
  await inWorkFolder('start', async (folder) => {
    const api = await startApi(ground(), 'ada');
    const { PATH } = process.env;
    const environment = { PATH, HOME: folder, TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'abc' };
    const seen = await measure(rounds, environment).finally(() => api.stop());
    const bare = medianOf((seen['bare Node'] ?? []).map(([cpu]) => cpu));
    console.table(
      Object.entries(seen).map(([command, ends]) => {
        const cpu = medianOf(ends.map(([seconds]) => seconds));
        return {
          command,
          exitCodes: [...new Set(ends.map(([, , code]) => code))].join(),
          cpuMilliseconds: Math.round(cpu * 1_000),
          timesBareNode: Number((cpu / bare).toFixed(1)),
          residentMegabytes: Math.round(medianOf(ends.map(([, kilobytes]) => kilobytes)) / 1_000),
        };
      }),
    );
  });
  return 0;
});
