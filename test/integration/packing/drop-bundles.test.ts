/** A drop in bundles that is killed, against the emulator: the dataset is that of a plain copy. */
import { expect, it } from 'vitest';
import { runDropCampaign } from '../../support/drops/campaign.ts';

it('seals what a plain copy seals, after kills', async () => {
  const outcome = await runDropCampaign({
    files: 120,
    fileBytes: 2_000,
    kills: 4,
    seed: 'integration',
    bundleBytes: 40_000,
    copiesPlainly: true,
  });
  expect(outcome).toMatchObject({ killed: 4, samples: 120, differences: [] });
}, 180_000);
