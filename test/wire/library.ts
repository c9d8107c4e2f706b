import type { SkillFile } from "../../src/domain/entry.ts";
import type { SourceSkill } from "./generated-skills.ts";
import type { RegistryClient } from "./registry-client.ts";

/**
 * What two departments would publish: a dozen skills in two namespaces, and the servers whose tools they drive. The
 * words are those of the trade, so that a sentence has to find its skill among neighbours and not among nonsense.
 */
export interface Department {
  namespace: string;
  skills: readonly SourceSkill[];
  servers: Readonly<Record<string, CompanionServer>>;
}

export interface CompanionServer {
  url: string;
  title: string;
  tools: readonly { name: string; description: string; inputSchema: object }[];
}

export const hiring: Department = {
  namespace: "hiring-desk",
  skills: [
    skill("match-candidates", "Match a candidate's CV to open positions and explain how well each of them fits.", {
      tools: "jobs/search_jobs jobs/get_job",
      body: "Search with the job titles of the CV, read each posting, and name what is missing.",
      files: [
        textFile("references/scoring.md", "# Scoring\n\nMust-haves count double; a gap of a year is no gap.\n"),
        { path: "assets/sample.bin", bytes: Uint8Array.from([0xff, 0x00, 0xfe, 0x80]), executable: false },
        textFile("references/Grüße & Anrede.md", "\uFEFFSehr geehrte …\r\n"),
      ],
    }),
    skill("write-job-adverts", "Write an inclusive job advert for a vacancy, from the notes of the hiring manager."),
    skill(
      "schedule-interviews",
      "Find interview slots that suit the candidate and every interviewer, and invite them.",
      {
        tools: "calendar/find_free_slots calendar/create_event",
      },
    ),
    skill("check-references", "Call former employers for a reference check, with questions that are lawful to ask."),
    skill("plan-onboarding", "Plan the first week of a new colleague: accounts, hardware, mentor, introductions."),
    skill("benchmark-salaries", "Compare the pay of a role with the market and with colleagues on the same level."),
  ],
  servers: {
    jobs: {
      url: "https://mcp.example.com/jobs",
      title: "Job board",
      tools: [
        tool("search_jobs", "Search open positions by title, place and words of the posting.", {
          words: { type: "string", description: "What the posting should say" },
          place: { type: "string" },
          remote: { type: "boolean", default: false },
        }),
        tool("get_job", "Get one posting with its requirements, its team and its pay band.", {
          id: { type: "string" },
        }),
        tool("close_job", "Close a posting and tell those who applied.", { id: { type: "string" } }),
        tool("list_applications", "List who applied for a posting.", { job: { type: "string" } }),
      ],
    },
    calendar: {
      url: "https://mcp.example.com/calendar",
      title: "Calendar",
      tools: [
        tool("find_free_slots", "Find times at which all of some people are free.", {
          people: { type: "array", items: { type: "string", format: "email" } },
          minutes: { type: "integer", minimum: 15 },
        }),
        tool("create_event", "Create an event and invite people to it.", { title: { type: "string" } }),
      ],
    },
  },
};

export const finance: Department = {
  namespace: "finance-office",
  skills: [
    skill("review-expense-reports", "Check a travel expense report against its receipts and the travel policy.", {
      body: "Refuse alcohol. Convert every currency at the rate of the day of the receipt.",
    }),
    skill("remind-of-overdue-invoices", "Write polite payment reminders to customers whose invoices are overdue.", {
      tools: "ledger/list_open_items",
    }),
    skill("file-vat-returns", "Prepare the quarterly VAT return from the sales and purchase journals."),
    skill("reconcile-bank-statements", "Reconcile a bank statement with the ledger and explain what does not match.", {
      tools: "ledger/list_open_items ledger/post_entry",
    }),
    skill("forecast-cash-flow", "Forecast the cash flow of the next thirteen weeks from open items and payroll."),
    skill("review-supplier-contracts", "Review a supplier contract for payment terms, liability and renewal clauses."),
  ],
  servers: {
    ledger: {
      url: "https://mcp.example.com/ledger",
      title: "Ledger",
      tools: [
        tool("list_open_items", "List unpaid invoices of a customer, with their due dates.", {
          customer: { type: "string" },
        }),
        tool("post_entry", "Post a journal entry of debits and credits that balance.", {
          lines: { type: "array", items: { type: "object", properties: { account: { type: "string" } } } },
        }),
      ],
    },
  },
};

export async function publishDepartment(operator: RegistryClient, department: Department): Promise<void> {
  const { namespace, skills, servers } = department;
  await operator.createNamespace(namespace);
  for (const [name, server] of Object.entries(servers)) {
    await put(operator, `/namespaces/${namespace}/servers/${name}`, server);
  }
  for (const one of skills) await operator.publish(namespace, one);
}

/** Answers with the body; an API that refuses fails the test right there. */
export async function put(operator: RegistryClient, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await operator.json("PUT", path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

interface Extras {
  tools?: string;
  body?: string;
  files?: SkillFile[];
}

export function skill(name: string, description: string, { tools, body = "", files = [] }: Extras = {}): SourceSkill {
  const metadata = tools === undefined ? "" : `metadata:\n  mcp-tools: "${tools}"\n`;
  const text = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n${metadata}---\n# Steps\n\n${body}\n`;
  return { path: name, files: [textFile("SKILL.md", text), ...files] };
}

export function textFile(path: string, text: string): SkillFile {
  return { path, bytes: new TextEncoder().encode(text), executable: false };
}

function tool(name: string, description: string, properties: object) {
  return { name, description, inputSchema: { type: "object", properties } };
}
