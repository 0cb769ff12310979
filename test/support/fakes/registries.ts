/** SageMaker Model Registry and MLflow's, as far as a hand-over calls them. `contracts/registries.ts` checks both. */
import type {
  CreateModelPackageInput,
  DescribeModelPackageOutput,
  SageMakerClient,
  UpdateModelPackageInput,
} from '@aws-sdk/client-sagemaker';
import type { Clock } from '@tidewheel/kit/clock.ts';

type Package = DescribeModelPackageOutput & { readonly ClientToken?: string | undefined };

function refused(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

export function memorySageMaker(clock: Clock) {
  const groups = new Set<string>();
  const packages: Package[] = [];
  const requests: { readonly operation: string; readonly input: object }[] = [];
  const at = (arn: string | undefined): Package => {
    const found = packages.find(({ ModelPackageArn }) => ModelPackageArn === arn);
    if (found === undefined) throw refused('ValidationException', `there is no ${arn}`);
    return found;
  };
  const create = (input: CreateModelPackageInput) => {
    const { ModelPackageGroupName: group = '', ClientToken, ...rest } = input;
    if (!groups.has(group)) throw refused('ValidationException', `there is no group ${group}`);
    const known = packages.find((each) => each.ClientToken === ClientToken);
    if (known !== undefined) return known;
    const ModelPackageVersion = packages.length + 1;
    const ModelPackageArn = `arn:aws:sagemaker:us-east-1:123456789012:model-package/${group}/${ModelPackageVersion}`;
    const made = { ...rest, ModelPackageGroupName: group, ClientToken, ModelPackageVersion, ModelPackageArn };
    packages.push(made as Package);
    return made;
  };
  const update = ({ ModelPackageArn, CustomerMetadataProperties, ...rest }: UpdateModelPackageInput) => {
    const found = at(ModelPackageArn);
    Object.assign(found, rest, {
      CustomerMetadataProperties: { ...found.CustomerMetadataProperties, ...CustomerMetadataProperties },
      LastModifiedTime: clock.now(),
    });
    return { ModelPackageArn };
  };
  const operations: Readonly<Record<string, (input: never) => object>> = {
    CreateModelPackageGroup: ({ ModelPackageGroupName: name }: { ModelPackageGroupName: string }) => {
      if (groups.has(name)) throw refused('ValidationException', 'Model Package Group already exists');
      return groups.add(name);
    },
    CreateModelPackage: create,
    UpdateModelPackage: update,
    DescribeModelPackage: ({ ModelPackageName }: { ModelPackageName: string }) => ({
      ...at(ModelPackageName),
    }),
    ListModelPackages: ({ ModelPackageGroupName: name }: { ModelPackageGroupName: string }) => {
      if (!groups.has(name)) throw refused('ValidationException', `there is no group ${name}`);
      return { ModelPackageSummaryList: packages.filter((each) => each.ModelPackageGroupName === name) };
    },
  };
  const send = async (command: {
    readonly input: object;
    readonly constructor: { readonly name: string };
  }) => {
    const operation = command.constructor.name.replace(/Command$/, '');
    requests.push({ operation, input: command.input });
    return Promise.resolve(operations[operation]?.(command.input as never));
  };
  return { client: { send } as unknown as SageMakerClient, requests };
}

/** Of a request. */
export const addressOf = (input: Parameters<typeof fetch>[0]): string =>
  input instanceof Request ? input.url : input.toString();

interface Version {
  readonly name: string;
  readonly version: string;
  readonly source: string;
  readonly tags: { key: string; value: string }[];
}

/** @returns a `fetch` that answers as MLflow's server */
export function memoryMlflow(): typeof fetch {
  const aliases = new Map<string, Map<string, string>>();
  let versions: Version[] = [];
  let last = 0;
  const routes: Readonly<Record<string, (fields: Readonly<Record<string, string>>) => object | string>> = {
    'GET registered-models/get': ({ name = '' }) => {
      const known = aliases.get(name);
      if (known === undefined) return 'RESOURCE_DOES_NOT_EXIST';
      const shown = [...known].map(([alias, version]) => ({ alias, version }));
      return { registered_model: { name, ...(shown.length > 0 && { aliases: shown }) } };
    },
    'POST registered-models/create': ({ name = '' }) => {
      if (aliases.has(name)) return 'RESOURCE_ALREADY_EXISTS';
      return aliases.set(name, new Map());
    },
    'POST registered-models/alias': ({ name = '', alias = '', version = '' }) =>
      aliases.get(name)?.set(alias, version) ?? 'RESOURCE_DOES_NOT_EXIST',
    'GET model-versions/search': ({ filter = '' }) => {
      const [, name, source] = /^name='(.*?)'(?: and source_path='(.*)')?$/.exec(filter) ?? [];
      const found = versions.filter(
        (each) => each.name === name && (source === undefined || each.source === source),
      );
      return found.length === 0 ? {} : { model_versions: found };
    },
    'POST model-versions/create': (fields) => {
      last += 1;
      const { name = '', source = '', tags } = fields;
      const made = {
        name,
        source,
        version: String(last),
        tags: structuredClone(tags) as unknown as Version['tags'],
      };
      versions = [...versions, made];
      return { model_version: made };
    },
    'POST model-versions/set-tag': ({ name, version, key = '', value = '' }) => {
      const found = versions.find((each) => each.name === name && each.version === version);
      const tag = found?.tags.find((each) => each.key === key);
      if (tag === undefined) found?.tags.push({ key, value });
      else tag.value = value;
      return found === undefined ? 'RESOURCE_DOES_NOT_EXIST' : {};
    },
    'DELETE model-versions/delete': ({ name, version }) => {
      const before = versions;
      versions = versions.filter((each) => each.name !== name || each.version !== version);
      return before === versions ? 'RESOURCE_DOES_NOT_EXIST' : {};
    },
  };
  return (input, { method = 'GET', body } = {}) => {
    const { pathname, searchParams } = new URL(addressOf(input));
    const fields =
      method === 'GET'
        ? Object.fromEntries(searchParams)
        : JSON.parse(typeof body === 'string' ? body : '{}');
    const answer =
      routes[`${method} ${pathname.replace('/api/2.0/mlflow/', '')}`]?.(fields) ?? 'ENDPOINT_NOT_FOUND';
    return Promise.resolve(
      typeof answer === 'string'
        ? Response.json({ error_code: answer, message: answer }, { status: 400 })
        : Response.json(answer),
    );
  };
}
