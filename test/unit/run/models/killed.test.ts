import { expect, it } from 'vitest';
import { surviveKills } from '../../../support/contracts/killed-models.ts';

/** test/heavy/model-kills.test.ts dies at every write. */
it('the pointer is whole after forty kills', async () => {
  expect((await surviveKills({ kills: 40, seed: '1' })).kills).toBeGreaterThanOrEqual(40);
}, 300_000);
