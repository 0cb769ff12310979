/** Where the channels of a job find their files: below the data that is dropped, or in S3 as before. */
import path from 'node:path';
import {
  asTable,
  asText,
  better,
  cannot,
  type FoundJob,
  type JobRow,
  type Line,
  listOf,
  rowOf,
  same,
  type Table,
} from './job.ts';

export interface Inputs {
  /** The folder of the data, relative to the project's; undefined where the data is not here. */
  readonly data: string | undefined;
  readonly channels: Readonly<Record<string, Table>>;
  readonly rows: readonly JobRow[];
}

/** ModelTrainer's own, and the source under network isolation. */
const OF_THE_SDK = ['sm_drivers', 'code'];

interface Input {
  readonly name: string;
  readonly channel: Table;
  /** Relative to the project's folder. */
  readonly folder: string | undefined;
  /** An earlier cell may make it. */
  readonly isHere: boolean;
}

export function inputsOf({ request }: FoundJob, files: readonly string[]): Inputs {
  const inputs = listOf(request['InputDataConfig'])
    .map(asTable)
    .filter((channel) => !OF_THE_SDK.includes(asText(channel['ChannelName']) ?? ''))
    .map((channel): Input => {
      const name = asText(channel['ChannelName']) ?? 'training';
      const folder = folderOf(name, channel, files);
      return { name, channel, folder, isHere: files.some((file) => file.startsWith(`${folder}/`)) };
    });
  const folders = inputs.flatMap(({ folder }) => folder ?? []);
  const data = folders.length === 0 ? undefined : commonFolder(folders);
  const mode = asText(asTable(request['AlgorithmSpecification'])['TrainingInputMode']);
  const rows: JobRow[] = [];
  const channels = inputs.flatMap(({ name, channel, ...place }): [string, Table][] => {
    const { written, ...line } = declared(name, { ...place, channel, data });
    rows.push(rowOf(`inputs: ${name}`, s3Of(channel)['S3Uri'] ?? '', line));
    const inputMode = asText(channel['InputMode']) ?? mode;
    return [[name, inputMode === 'FastFile' && 's3' in written ? { ...written, inputMode } : written]];
  });
  return { data, channels: Object.fromEntries(channels), rows };
}

const s3Of = (channel: Table): Table => asTable(asTable(channel['DataSource'])['S3DataSource']);

function uploadedOf(uri: unknown): string | undefined {
  const call = asTable(uri);
  const { path: given, local_path = given } = asTable(call['arguments']);
  return /(^|\.)(upload_data|S3Uploader\.upload)$/.test(asText(call['$call']) ?? '')
    ? asText(listOf(call['positional'])[0] ?? local_path)
    : asText(uri)?.replace(/^file:\/\//, '');
}

/** One that the script uploads itself, or one of the channel's name. */
function folderOf(name: string, channel: Table, files: readonly string[]): string | undefined {
  const uploaded = uploadedOf(s3Of(channel)['S3Uri']);
  const named = uploaded?.startsWith('s3://') ? undefined : uploaded;
  if (named !== undefined) {
    const folder = path.posix.normalize(named).replace(/\/$/, '');
    if (files.includes(folder)) return path.posix.dirname(folder);
    const isBelow = !/^(\.\.?$|\.\.\/|\/)|:|\.\w{1,8}$/.test(folder);
    return isBelow || files.some((file) => file.startsWith(`${folder}/`)) ? folder : undefined;
  }
  const found = files.find((file) => file.split('/').slice(1, -1).includes(name));
  return found?.slice(0, found.indexOf(`/${name}/`) + name.length + 1);
}

/** @returns undefined where it is the project's own folder, which has the code */
function commonFolder(folders: readonly string[]): string | undefined {
  const [parts = [], ...others] = folders.map((folder) => folder.split('/'));
  const length = parts.findIndex((part, index) => others.some((other) => other[index] !== part));
  const common = (length === -1 ? parts : parts.slice(0, length)).join('/');
  return common === '' || common === '.' ? undefined : common;
}

interface Place {
  readonly channel: Table;
  readonly folder: string | undefined;
  readonly isHere: boolean;
  readonly data: string | undefined;
}

function declared(
  name: string,
  { channel, folder, isHere, data }: Place,
): Line & { readonly written: Table } {
  const system = asTable(asTable(channel['DataSource'])['FileSystemDataSource']);
  const id = asText(system['FileSystemId']);
  const ours = `training.channels.${name}`;
  if (id !== undefined) {
    const kind = system['FileSystemType'] === 'EFS' ? 'efs' : 'fsxLustre';
    const directory = asText(system['DirectoryPath']) ?? '/';
    const access = system['FileSystemAccessMode'] === 'rw' ? { access: 'rw' } : {};
    return { ...same(ours, 'needs compute.vpc'), written: { [kind]: id, directory, ...access } };
  }
  if (folder !== undefined && data !== undefined) {
    const below = folder === data ? '' : `${folder.slice(data.length + 1)}/`;
    const what = isHere ? `${folder}/` : `${folder}/, which is not here yet,`;
    const why = `${what} is dropped, and each run has the files of one version`;
    return { ...better(ours, why), written: { s3: `incoming/${below}` } };
  }
  return ofPrefix(name, ours, asText(s3Of(channel)['S3Uri']) ?? '');
}

function ofPrefix(name: string, ours: string, uri: string): Line & { readonly written: Table } {
  const isBucket = /^s3:\/\/[^/]+\/?$/.test(uri);
  if (uri.startsWith('s3://') && !isBucket)
    return { ...prefixLine(ours, uri), written: { s3: folderOfPrefix(uri) } };
  const why = isBucket
    ? 'a channel is a prefix, and no whole bucket: name one'
    : 'name its folder below the data, or its prefix in S3';
  return { verdict: 'unread', ours, why, written: { s3: `incoming/${name}/` } };
}

/** SageMaker takes every key that begins so; a channel here is a folder. */
const isFile = (uri: string): boolean => /\/[^/]*\.[A-Za-z0-9]{1,8}$/.test(uri);
const folderOfPrefix = (uri: string): string =>
  isFile(uri) ? uri.slice(0, uri.lastIndexOf('/') + 1) : uri.replace(/\/?$/, '/');
const prefixLine = (ours: string, uri: string): Line =>
  isFile(uri) ? cannot('a channel is a folder: look what else lies there', ours) : same(ours);
