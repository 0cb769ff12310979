import { expect, it } from 'vitest';
import { withinLimit } from '../../../functions/aws/lambda/lambda-handler.ts';

it('is the work where it ends in time', async () => {
  expect(await withinLimit(Promise.resolve(7), 60)).toBe(7);
  await expect(withinLimit(Promise.reject(new Error('its own')), 60)).rejects.toThrow('its own');
});

it('goes on without work that takes longer', async () => {
  const never = new Promise(() => undefined);
  await expect(withinLimit(never, 0)).rejects.toThrow('took longer than 0 s: the next round tries again');
});
