/** `tidewheel doctor`: what holds a training back, from a file of what was measured. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { diagnose } from '../../functions/core/doctor/diagnose.ts';
import { formatVerdicts } from '../../functions/core/doctor/format-verdicts.ts';
import { readEvidence } from '../../functions/core/doctor/read-evidence.ts';
import { defineVerb } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'doctor',
  summary: 'say what holds a training back, what to change, and what that brings',
  deployment: 'none',
  options: {
    evidence: {
      type: 'string',
      value: 'FILE',
      about: 'JSON with points, phases, data, inputMode, instanceType, ... (docs/doctor.md)',
    },
  },
  schema: z.object({ evidence: z.string('name the file: --evidence FILE') }),
  examples: [['--evidence measured.json', 'from a file of what was measured']],
  run: ({ values: { evidence: file } }, { terminal, json }) => {
    const read = readEvidence(jsonOf(file));
    if (read.kind === 'problems') throw new Error(`--evidence ${file}:\n${read.problems.join('\n')}`);
    const verdicts = diagnose(read.evidence);
    terminal.print(json ? JSON.stringify(verdicts, null, 2) : formatVerdicts(read.evidence, verdicts));
    return Promise.resolve(0);
  },
});

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`--evidence ${file} cannot be read as JSON: ${String(cause)}`, { cause });
  }
}
