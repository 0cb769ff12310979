/** The DynamoDB calls of the stores, over items with `pk` and `sk`. */
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandInput,
  type ScanCommandOutput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { raised } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type Item, RECORDS, readable, recordOf } from '../../records/stored-records.ts';
import type { Tell } from '../../records/stores.ts';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** Sparse index of what is unfinished: `open` is 'RUN', then 'KEPT' until its files have expired, 'ATTEMPT', or 'MODELS'. */
export const OPEN_INDEX = 'open';
/** Index of lists: `listKey` groups them (all pipelines, runs of a pipeline) and `sk` orders them. */
export const LIST_INDEX = 'list';

export type QueryInput = Omit<QueryCommandInput, 'TableName'>;

interface Page {
  readonly items: readonly Item[];
  /** The key of the last item that was read; absent at the end. */
  readonly last: Item | undefined;
}

export interface StoredTable {
  get(key: Key): Promise<Item | undefined>;
  /** Writes unless an item of the key exists. */
  create(item: Key & Item): Promise<'created' | 'exists'>;
  put(item: Key & Item): Promise<void>;
  /**
   * Sets (or, for undefined, removes) attributes of an existing item and returns the whole.
   * @param expected values that the item must have; undefined for an attribute that must be absent
   * @returns undefined if there is no such item
   * @throws UnreadableRecordError for an item that this release does not know how to change
   */
  update(key: Key, change: Item, expected?: Item): Promise<Item | undefined>;
  /** Steps over records that cannot be read, and names them. */
  query<Schema extends z.ZodType>(
    schema: Schema,
    input: QueryInput,
    page?: { readonly limit?: number | undefined; readonly tell?: Tell | undefined },
  ): Promise<z.output<Schema>[]>;
  /**
   * All records of `pk` whose `sk` begins with the prefix, in its order, strongly consistent.
   * @throws UnreadableRecordError
   */
  queryPrefix<Schema extends z.ZodType>(
    schema: Schema,
    pk: string,
    prefix: string,
  ): Promise<z.output<Schema>[]>;
  /** One read, of up to 1 MB. */
  readPage(input: QueryInput): Promise<Page>;
  /** The same of the whole table, in no order. */
  scanPage(input: Omit<ScanCommandInput, 'TableName'>): Promise<Page>;
  transact(items: NonNullable<TransactWriteCommandInput['TransactItems']>): Promise<void>;
  /**
   * Rewrites an item of the version before, after its change was refused.
   * @returns whether the change may succeed now
   * @throws UnreadableRecordError
   */
  raise(key: Key): Promise<boolean>;
  readonly name: string;
}

export function storedTable(
  dynamo: DynamoDBDocumentClient,
  name: string,
  format: typeof RECORDS = RECORDS,
): StoredTable {
  const { version } = format;
  const read = (key: Key) => readItem(dynamo, name, key);
  const raise = (key: Key) => raiseItem({ dynamo, name, format }, key);
  return {
    name,
    raise,
    get: async (key) => {
      const item = await read(key);
      return item && { ...raised(format, item) };
    },
    create: async (item) =>
      (await unlessConditionFails(async () => {
        await dynamo.send(
          new PutCommand({
            TableName: name,
            Item: { ...item, version },
            ConditionExpression: 'attribute_not_exists(pk)',
          }),
        );
        return 'created' as const;
      })) ?? 'exists',
    put: async (item) => {
      await dynamo.send(new PutCommand({ TableName: name, Item: { ...item, version } }));
    },
    update: async (key, change, expected) => {
      const input = { TableName: name, Key: { ...key }, ...updateOf(change, { ...expected, version }) };
      for (let isCurrent = false; ; ) {
        const changed = await unlessConditionFails(
          async () => (await dynamo.send(new UpdateCommand(input))).Attributes,
        );
        if (changed !== undefined || isCurrent) return changed;
        // Another writer may have raised it behind the condition, so the change is tried once more.
        isCurrent = !(await raise(key));
      }
    },
    query: async (schema, input, { limit, tell } = {}) =>
      queryAll(dynamo, { ...input, TableName: name }, (item) => readable(schema, item, tell, format), limit),
    queryPrefix: async (schema, pk, prefix) => {
      const input = {
        TableName: name,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': pk, ':prefix': prefix },
        ConsistentRead: true,
      };
      return queryAll(dynamo, input, (item) => [recordOf(schema, item, format)]);
    },
    readPage: async (input) => pageOf(await dynamo.send(new QueryCommand({ ...input, TableName: name }))),
    scanPage: async (input) => pageOf(await dynamo.send(new ScanCommand({ ...input, TableName: name }))),
    transact: async (items) => {
      await dynamo.send(new TransactWriteCommand({ TransactItems: items }));
    },
  };
}

const pageOf = (answer: QueryCommandOutput | ScanCommandOutput): Page => ({
  items: answer.Items ?? [],
  last: answer.LastEvaluatedKey,
});

/** SET for values, REMOVE for undefined. Every name uses a placeholder, because some are reserved words. */
export function updateOf(change: Item, expected: Item = {}) {
  const names: Record<string, string> = {};
  const values: Item = {};
  const conditions = ['attribute_exists(pk)'];
  const sets: string[] = [];
  const removes: string[] = [];
  Object.entries(change).forEach(([attribute, value], index) => {
    names[`#a${index}`] = attribute;
    if (value === undefined) removes.push(`#a${index}`);
    else {
      values[`:v${index}`] = value;
      sets.push(`#a${index} = :v${index}`);
    }
  });
  Object.entries(expected).forEach(([attribute, value], index) => {
    names[`#c${index}`] = attribute;
    if (value === undefined) conditions.push(`attribute_not_exists(#c${index})`);
    else {
      values[`:c${index}`] = value;
      conditions.push(`#c${index} = :c${index}`);
    }
  });
  const expression = [
    sets.length && `SET ${sets.join(', ')}`,
    removes.length && `REMOVE ${removes.join(', ')}`,
  ];
  return {
    UpdateExpression: expression.filter(Boolean).join(' '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
    ConditionExpression: conditions.join(' AND '),
    ReturnValues: 'ALL_NEW' as const,
  };
}

async function unlessConditionFails<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error: unknown) {
    if (error instanceof ConditionalCheckFailedException) return undefined;
    throw error;
  }
}

const readItem = async (dynamo: DynamoDBDocumentClient, name: string, key: Key): Promise<Item | undefined> =>
  (await dynamo.send(new GetCommand({ TableName: name, Key: { ...key }, ConsistentRead: true }))).Item;

interface Formatted {
  readonly dynamo: DynamoDBDocumentClient;
  readonly name: string;
  readonly format: typeof RECORDS;
}

async function raiseItem({ dynamo, name, format }: Formatted, key: Key): Promise<boolean> {
  const before = await readItem(dynamo, name, key);
  if (before === undefined || before['version'] === format.version) return false;
  recordOf(z.unknown(), before, format);
  const seen = updateOf({}, { version: before['version'], updatedAt: before['updatedAt'] });
  const put = new PutCommand({
    TableName: name,
    Item: raised(format, before),
    ConditionExpression: seen.ConditionExpression,
    ExpressionAttributeNames: seen.ExpressionAttributeNames,
    ExpressionAttributeValues: seen.ExpressionAttributeValues,
  });
  // A writer that was faster may have raised it, or changed it as the release before does.
  await unlessConditionFails(() => dynamo.send(put));
  return true;
}

/** @param limit of records, of which an item that cannot be read is none */
async function queryAll<T>(
  dynamo: DynamoDBDocumentClient,
  input: QueryCommandInput,
  read: (item: Item) => readonly T[],
  limit = Number.POSITIVE_INFINITY,
) {
  const records: T[] = [];
  let start: QueryCommandInput['ExclusiveStartKey'];
  do {
    const page = await dynamo.send(
      new QueryCommand({
        ...input,
        ...(start && { ExclusiveStartKey: start }),
        ...(Number.isFinite(limit) && { Limit: limit - records.length }),
      }),
    );
    records.push(...(page.Items ?? []).flatMap(read));
    start = page.LastEvaluatedKey;
  } while (start && records.length < limit);
  return records;
}

/** DynamoDB's TTL attribute, in seconds since 1970; see TimeToLiveSpecification in serverless/storage.yml. */
export const expires = (at: string, days: number): number =>
  Math.floor(Date.parse(at) / 1_000) + days * 86_400;
