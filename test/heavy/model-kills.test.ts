/** 500 kills over every write of evaluation, promotion and hand-over. TIDEWHEEL_SEED=$RANDOM draws another order. */

import { expect, it } from 'vitest';
import { surviveKills } from '../support/contracts/killed-models.ts';
import { dieAtEachCall, shownInMlflow, shownInSageMaker } from '../support/contracts/registries.ts';
import { fakeClock } from '../support/fakes/clock.ts';
import { memoryMlflow, memorySageMaker } from '../support/fakes/registries.ts';

const seed = process.env['TIDEWHEEL_SEED'] ?? '1';

it('nothing is lost by 500 kills', async () => {
  const world = () => ({ sageMaker: memorySageMaker(fakeClock()).client, fetch: memoryMlflow() });
  const [packages, versions] = [world(), world()];
  const show = shownInSageMaker(packages.sageMaker);
  const shown = shownInMlflow(versions.fetch, 'https://mlflow.test');
  const handedOver =
    (await dieAtEachCall({ ...packages, registries: { sagemaker: {} }, show }, 1)) +
    (await dieAtEachCall({ ...versions, registries: { mlflow: {} }, show: shown }, 1));
  const { kills, places, of } = await surviveKills({ kills: 500 - handedOver, seed });
  process.stdout.write(
    `${handedOver} kills in hand-overs, ${kills} at ${places} places of evaluation and promotion\n`,
  );
  expect(places).toBe(of);
  expect(handedOver + kills).toBeGreaterThanOrEqual(500);
}, 600_000);
