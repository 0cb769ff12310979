/** What is to be started: the folder's declaration, or the one that `init` would write, and what was typed over it. */

import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { channelsOf, type Pipeline, trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { SHARDS_CHANNEL, shardsChannel } from '@tidewheel/declaration/script.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { problemText } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import { declarationAt } from '../command/declared.ts';
import { DECLARATION_FILE } from '../command/run-list.ts';
import type { Project } from '../init/declaration.ts';

interface Wanted {
  /** Absolute, as is the declaration. */
  readonly folder: string;
  readonly declaration: string | undefined;
  readonly entryPoint: string | undefined;
  readonly arguments: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute folders by name. */
  readonly channels: Readonly<Record<string, string>>;
  /** What `init` would write. @throws UsageError where a person has to say which script is meant */
  readonly propose: (folder: string, script: string | undefined) => Promise<Proposal>;
}

export interface Proposal {
  readonly project: Pick<Project, 'name' | 'source' | 'dependencies' | 'data'>;
  readonly text: string;
}

interface Declared {
  /** Absolute: where the code lies. */
  readonly source: string;
  /** Absolute: what a run has beside the code. */
  readonly dependencies?: readonly string[];
  readonly training: Pipeline['training'];
  /** Those that were typed, and x-local's data where none was typed for its channels. */
  readonly channels: Readonly<Record<string, string>>;
  /** The first that is declared, without `ml.`. */
  readonly instanceType: string | undefined;
  /** It is started as `init` would declare it. */
  readonly isProposed: boolean;
}

const USUAL_NAMES = [DECLARATION_FILE, 'pipeline.yaml', 'pipeline.yml'];

export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

export const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** @throws UsageError with every problem of the declaration and of what was typed */
export async function readTraining(wanted: Wanted): Promise<Declared> {
  const { pipeline, data, ...found } = await declaredIn(wanted);
  const training = check(
    trainingSchema,
    asWanted(pipeline && { ...pipeline.training, channels: declaredChannels(pipeline) }, wanted),
    'shown',
  );
  if (!training.ok)
    throw new UsageError(training.problems.map((problem) => `training.${problemText(problem)}`));
  const [type] = pipeline?.compute.instanceTypes ?? [];
  return {
    ...found,
    training: training.value,
    channels: { ...(data !== undefined && foldersOf(data, training.value, pipeline)), ...wanted.channels },
    instanceType: type?.replace(/^ml\./, ''),
  };
}

function asWanted(declared: Pipeline['training'] | undefined, wanted: Wanted) {
  const ofShards = shardsIn(declared?.channels);
  const typed = Object.keys(wanted.channels).filter((name) => name !== ofShards);
  return {
    strategy: 'single',
    ...declared,
    ...(wanted.entryPoint !== undefined && { entryPoint: wanted.entryPoint, command: undefined }),
    ...(wanted.arguments !== undefined && { arguments: wanted.arguments }),
    environment: { ...declared?.environment, ...wanted.environment },
    channels: {
      ...declared?.channels,
      ...Object.fromEntries(typed.map((name) => [name, { s3: `${name}/` }])),
    },
  };
}

/** As they are written. A part of a split has all files here. */
const declaredChannels = (pipeline: Pipeline): NonNullable<Pipeline['training']['channels']> =>
  Object.fromEntries(
    Object.entries(channelsOf(pipeline)).map(([name, channel]) => [
      name,
      's3' in channel ? { s3: channel.s3, inputMode: 'File' } : channel,
    ]),
  );

export const shardsIn = (channels: Pipeline['training']['channels']): string =>
  shardsChannel(SHARDS_CHANNEL, Object.keys(channels ?? {}));

/** Where a run finds what was dropped: as files in the channels that declare so, and packed in that of the shards. */
function foldersOf(
  data: string,
  { channels = {} }: Pipeline['training'],
  pipeline: Pipeline | undefined,
): Readonly<Record<string, string>> {
  const folders: Record<string, string> = isUnpacked(pipeline?.packing) ? {} : { [shardsIn(channels)]: data };
  for (const [name, channel] of Object.entries(channels)) {
    const [, below] = ('s3' in channel && /^incoming\/(.*?)\/?$/.exec(channel.s3)) || [];
    if (below !== undefined) folders[name] = join(data, below);
  }
  for (const [name, folder] of Object.entries(folders)) if (!isFolder(folder)) delete folders[name];
  return folders;
}

interface InFolder {
  /** Undefined where no script says what it needs. */
  readonly pipeline?: Pipeline;
  readonly source: string;
  readonly dependencies?: readonly string[];
  readonly data?: string | undefined;
  readonly isProposed: boolean;
}

async function declaredIn(wanted: Wanted): Promise<InFolder> {
  const { folder, declaration } = wanted;
  const file = declaration ?? USUAL_NAMES.map((name) => join(folder, name)).find(isFile);
  if (file === undefined) return proposedIn(wanted);
  const { name, text, source, dependencies, data } = await declarationAt(folder, file);
  const declared = readDeclaration(name, text);
  if (!declared.valid)
    throw new UsageError(declared.problems.map((problem) => `${basename(file)}: ${problemText(problem)}`));
  const { pipeline } = declared;
  return {
    pipeline,
    source: join(folder, source),
    dependencies,
    data: data === undefined ? data : join(folder, data.root),
    isProposed: false,
  };
}

/** An entry point that is no Python file of the folder says nothing. */
async function proposedIn({ folder, entryPoint, propose }: Wanted): Promise<InFolder> {
  if (entryPoint !== undefined && !(entryPoint.endsWith('.py') && isFile(join(folder, entryPoint))))
    return { source: folder, isProposed: false };
  const { project, text } = await propose(folder, entryPoint).catch((error: unknown) => {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.problems.map((problem) => problem.replaceAll('--script', '--entry')));
  });
  const declared = readDeclaration(project.name, text);
  if (!declared.valid) throw new UsageError(declared.problems.map(problemText));
  const { pipeline } = declared;
  return {
    pipeline,
    source: join(folder, project.source),
    dependencies: (project.dependencies ?? []).map((each) => join(folder, each)),
    data: project.data && join(folder, project.data.folder),
    isProposed: true,
  };
}
