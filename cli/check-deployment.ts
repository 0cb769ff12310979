/** `npm run check:deployment`: what would fail in the first run of a deployment, in one list, each with its remedy. */
import { randomUUID } from 'node:crypto';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { checkDeployment } from '../functions/core/deployment/check-deployment.ts';
import { formatFindings } from './deployment/format-findings.ts';
import { openDeployment } from './deployment/open-deployment.ts';
import { surroundingsOf } from './deployment/surroundings.ts';

const USAGE = `npm run check:deployment -- [--stage STAGE] [--read-only] [--json]

What would fail in the first run, in one list: quotas, concurrency, roles, networks, images, secrets, the path of
arrivals. It reads the stack and the declared pipelines. It changes nothing but one test object, which it removes.

  --stage STAGE   stage of the deployment; default: dev
  --read-only     put no test object
  --json          print the findings as JSON

AWS_REGION and credentials name the account; AWS_ENDPOINT_URL selects another endpoint, such as that of npm start.
The exit code is 1 if something would fail.`;

const WORDS = {
  options: {
    stage: { type: 'string' },
    'read-only': { type: 'boolean' },
    json: { type: 'boolean' },
  },
  schema: z.object({
    stage: z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9-]{0,63}$/, 'write the name of a stage')
      .default('dev'),
    'read-only': z.boolean().default(false),
    json: z.boolean().default(false),
  }),
} as const;

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, WORDS);
  const { region } = surroundingsOf(process.env);
  const { testObject, ...deployment } = await openDeployment({ stage: values.stage, region });
  const findings = await checkDeployment({
    ...deployment,
    testObject: values['read-only'] ? undefined : { id: randomUUID(), ...testObject },
  });
  const text = values.json ? JSON.stringify(findings, undefined, 2) : formatFindings(findings);
  process.stdout.write(`${text}\n`);
  return findings.some(({ kind }) => kind === 'fails') ? 1 : 0;
}

await runCommand(USAGE, main);
