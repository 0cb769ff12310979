/** Draws the lattice that `place` uses (ten-minute ticks) and writes it beside the table: node bench/sim/write-lattice.ts */
import { writeFileSync } from 'node:fs';
import { fittedRegimes } from '../../packages/placement/belief/regimes.ts';
import { drawLattice } from '../../packages/placement/policy/lattice.ts';

const DIGITS = 5;
const file = new URL('@tidewheel/placement/policy/lattice-600.json', import.meta.url);
const text = JSON.stringify(drawLattice(fittedRegimes, 600), (_key, value: unknown) =>
  typeof value === 'number' ? Number(value.toFixed(DIGITS)) : value,
);
writeFileSync(file, `${text}\n`);
console.log(`${file.pathname}: ${text.length} characters`);
