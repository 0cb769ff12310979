/** What is to be started: the declaration of the folder, if there is one, and what was typed over it. */

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import { parse } from 'yaml';
import { readDeclaration } from '../../functions/core/pipeline/declaration.ts';
import type { Pipeline } from '../../functions/core/pipeline/pipeline.ts';
import { trainingSchema } from '../../functions/core/pipeline/training.ts';
import { problemText } from '../../functions/core/shared/errors.ts';

interface Wanted {
  /** Absolute, as is the declaration. */
  readonly folder: string;
  readonly declaration: string | undefined;
  readonly entryPoint: string | undefined;
  readonly arguments: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly channels: readonly string[];
}

interface Declared {
  readonly training: Pipeline['training'];
  /** The first that is declared, without `ml.`. */
  readonly instanceType: string | undefined;
}

const USUAL_NAMES = ['pipeline.yaml', 'pipeline.yml'];

/** @throws UsageError with every problem of the declaration and of what was typed */
export async function readTraining(wanted: Wanted): Promise<Declared> {
  const pipeline = await declaredIn(wanted);
  const channels = wanted.channels.filter((name) => name !== 'train');
  const training = trainingSchema.safeParse({
    strategy: 'single',
    ...pipeline?.training,
    ...(wanted.entryPoint !== undefined && { entryPoint: wanted.entryPoint, command: undefined }),
    ...(wanted.arguments !== undefined && { arguments: wanted.arguments }),
    ...(Object.keys(wanted.environment).length > 0 && {
      environment: { ...pipeline?.training.environment, ...wanted.environment },
    }),
    ...(channels.length > 0 && {
      channels: Object.fromEntries(channels.map((name) => [name, `s3://local-data/${name}/`])),
    }),
  });
  if (!training.success)
    throw new UsageError(
      training.error.issues.map(({ path, message }) => `training.${path.join('.')}: ${message}`),
    );
  const [type] = pipeline?.compute.instanceTypes ?? [];
  return { training: training.data, instanceType: type?.replace(/^ml\./, '') };
}

async function declaredIn({ folder, declaration }: Wanted): Promise<Pipeline | undefined> {
  const files = declaration === undefined ? USUAL_NAMES.map((name) => join(folder, name)) : [declaration];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      // One that was named is there.
      if (declaration !== undefined) throw error;
    });
    if (text === undefined) continue;
    const declared = readDeclaration(nameIn(text), text);
    if (declared.valid) return declared.pipeline;
    throw new UsageError(declared.problems.map((problem) => `${basename(file)}: ${problemText(problem)}`));
  }
  return undefined;
}

/** A declaration bears the name of its file in the bucket; here its own name is that. */
function nameIn(text: string): string {
  try {
    const content: unknown = parse(text);
    if (typeof content === 'object' && content !== null && 'name' in content) return String(content.name);
  } catch {
    // readDeclaration says what is wrong with it.
  }
  return '';
}
