import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import { dynamoStores } from '../../../functions/aws/dynamodb/stores.ts';
import { decisionWith, LARGE_DECISION } from '../../support/builders/large-decision.ts';

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html */
const LARGEST_ITEM = 400 * 1_024;

it('a decision of 80 types fits an item', async () => {
  const items: object[] = [];
  const dynamo: Pick<DynamoDBDocumentClient, 'send'> = {
    send: ({ input }: { readonly input: object }) => {
      if ('Item' in input && typeof input.Item === 'object') items.push(input.Item ?? {});
      return Promise.resolve({});
    },
  };
  const { placements } = dynamoStores(dynamo as DynamoDBDocumentClient, 'table');
  await placements.put('digits-000001', 1, LARGE_DECISION);
  await placements.put('digits-000001', 2, decisionWith(80 * 6));
  const [large, usual] = items.map((item) => {
    const values = Object.values(item) as unknown[];
    return values.reduce<number>(
      (sum, each) => sum + (each instanceof Uint8Array ? each.length : JSON.stringify(each).length),
      0,
    );
  });
  expect(JSON.stringify(LARGE_DECISION).length).toBeGreaterThan(300_000);
  expect(large).toBeLessThan(LARGEST_ITEM / 4);
  expect(usual).toBeGreaterThan(30_000);
  expect(items[1]).toMatchObject({ question: { market: { region: 'us-east-1' } } });
});
