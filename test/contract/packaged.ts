/**
 * The CloudFormation template as `osls package` writes it, made without AWS and with credentials that open nothing. Kept
 * in the clone by the content of everything that goes into it: several test files share one packaging.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageDigest, packageOnce } from '@tidewheel/emulators/region/package-cache.ts';

export interface Resource {
  readonly Type: string;
  readonly Condition?: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly DependsOn?: string | readonly string[];
}

export interface Template {
  readonly Conditions?: Readonly<Record<string, unknown>>;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}

export interface Packaged {
  /** Folder of the template and of a zip for each function. */
  readonly folder: string;
  readonly templateFile: string;
  readonly template: Template;
}

const run = promisify(execFile);

export async function packaged(): Promise<Packaged> {
  const folder = await packageOnce({
    projectFolder: '.',
    // Others are packaged with other parameters.
    digest: `contract-${await packageDigest('.')}`,
    make,
    onWait: () => {},
  });
  const templateFile = join(folder, 'cloudformation-template-update-stack.json');
  return { folder, templateFile, template: JSON.parse(readFileSync(templateFile, 'utf8')) as Template };
}

async function make(): Promise<string> {
  const work = join('.esbuild', `contract-${process.pid}`);
  const made = `${work}-package`;
  const temporary = join(process.cwd(), work, 'temporary');
  mkdirSync(temporary, { recursive: true });
  const { AWS_PROFILE: _, AWS_ENDPOINT_URL: __, ...environment } = process.env;
  await run(join('node_modules', '.bin', 'osls'), ['package', '--package', made], {
    env: {
      ...environment,
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_REGION: 'us-east-1',
      TMPDIR: temporary,
      // A build folder of its own: a deployment in the same clone may be bundling too.
      TIDEWHEEL_BUILD_FOLDER: join(work, 'build'),
      SLS_TELEMETRY_DISABLED: '1',
      SLS_NOTIFICATIONS_MODE: 'off',
    },
  });
  const left = readdirSync(temporary);
  if (left.length > 0) throw new Error(`osls left in the temporary folder: ${left.join(', ')}`);
  rmSync(work, { recursive: true });
  return made;
}

/** Logical ids and properties of all resources of a type. */
export const ofType = (template: Template, type: string): [string, Resource][] =>
  Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
