/** `npm run strategies`: the agent's copy of the table of strategies. A test says when it is out of date. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { STRATEGIES, type StrategyTraits, strategyTraits } from '../functions/core/pipeline/strategies.ts';

export const STRATEGIES_FILE = join(
  import.meta.dirname,
  '../training/agent/tidewheel_agent/configuration/strategy_traits.py',
);

const USAGE = `npm run strategies

Writes training/agent/tidewheel_agent/configuration/strategy_traits.py from functions/core/pipeline/strategies.ts. It
takes no options.`;

/** The traits that the agent asks for; the service alone uses the others. */
const AGENT_TRAITS = ['otherGroups', 'savedBy'] as const satisfies readonly (keyof StrategyTraits)[];

/** A module of Python as ruff formats it. */
export function strategiesText(): string {
  const fields = AGENT_TRAITS.map((trait) => `    ${snakeCase(trait)}: ${typeOf(trait)}`);
  const table = STRATEGIES.map((name) => {
    const values = AGENT_TRAITS.map((trait) => `${snakeCase(trait)}=${literal(strategyTraits[name][trait])}`);
    return `    "${name}": StrategyTraits(${values.join(', ')}),`;
  });
  return `${HEADER}
@dataclass(frozen=True)
class StrategyTraits:
    """The table in TypeScript explains the traits."""

${fields.join('\n')}


TRAITS: dict[str, StrategyTraits] = {
${table.join('\n')}
}
`;
}

const HEADER = `"""What the agent must know of each strategy.

\`npm run strategies\` writes this file from functions/core/pipeline/strategies.ts: change that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

`;

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const literal = (value: string): string => `"${snakeCase(value)}"`;

/** The values that occur: mypy then refuses a comparison with any other. */
const typeOf = (trait: (typeof AGENT_TRAITS)[number]): string =>
  `Literal[${[...new Set(STRATEGIES.map((name) => literal(strategyTraits[name][trait])))].join(', ')}]`;

async function main(args: readonly string[]): Promise<number> {
  readCommandLine(args, { options: {}, schema: z.object({}) });
  await writeFile(STRATEGIES_FILE, strategiesText());
  return 0;
}

if (import.meta.main) await runCommand(USAGE, main);
