/** npm run doctor: what holds a training back, from a file of what was measured. */
import { readFileSync } from 'node:fs';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { diagnose } from '../functions/core/doctor/diagnose.ts';
import { formatVerdicts } from '../functions/core/doctor/format-verdicts.ts';
import { readEvidence } from '../functions/core/doctor/read-evidence.ts';

const USAGE = `npm run doctor -- --evidence FILE [--json]

What holds a training back, what to change, and what that brings.

  --evidence FILE   JSON with points, phases, data, inputMode, instanceType, alternatives, region and steps;
                    docs/doctor.md describes each
  --json            the verdicts as JSON
`;

const spec = {
  options: { evidence: { type: 'string' }, json: { type: 'boolean', default: false } },
  schema: z.object({
    evidence: z.string('name the file: --evidence FILE'),
    json: z.boolean(),
  }),
} as const;

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`--evidence ${file} cannot be read as JSON: ${String(cause)}`, { cause });
  }
}

await runCommand(USAGE, (args) => {
  const { evidence: file, json } = readCommandLine(args, spec).values;
  const read = readEvidence(jsonOf(file));
  if (read.kind === 'problems') throw new Error(`--evidence ${file}:\n${read.problems.join('\n')}`);
  const verdicts = diagnose(read.evidence);
  process.stdout.write(
    `${json ? JSON.stringify(verdicts, null, 2) : formatVerdicts(read.evidence, verdicts)}\n`,
  );
  return Promise.resolve(0);
});
