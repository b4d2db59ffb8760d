--- The deliberation rounds of a session: what the log says of them, and what a running branch is
--- heard to do, which is not logged. Pure.

--- `lost`: its turn or its server ended without an outcome. It may still come out, when the log is
--- repaired.
---@alias dsh.rounds.BranchState "starting"|dsh.BranchState|"lost"

--- One branch of a round.
---@class (exact) dsh.Branch
---@field plan dsh.BranchPlan
---@field state dsh.rounds.BranchState
---@field child? string Its child agent's session.
---@field stop_reason? string
---@field outcome? dsh.BranchOutcome
---@field activity? string The tool that the child called last.
---@field deadline? integer When its time is over, in milliseconds of the caller's clock.

---@class (exact) dsh.Round
---@field id string
---@field by dsh.RoundBy
---@field goal? string What is to be decided.
---@field state "running"|"lost"|"settled"
---@field branches dsh.Branch[]
---@field private by_label table<string, dsh.Branch>

--- What was heard of a branch before the log told of its round.
---@class (exact) dsh.rounds.Heard
---@field activity? string
---@field deadline integer

---@class (exact) dsh.Rounds
---@field private by_id table<string, dsh.Round>
---@field private running table<string, dsh.Round>
---@field private early table<string, table<string, dsh.rounds.Heard>>
local Rounds = {}
Rounds.__index = Rounds

---@return dsh.Rounds
function Rounds.new()
  return setmetatable({ by_id = {}, running = {}, early = {} }, Rounds)
end

---@param data dsh.DeliberationStarted
---@return dsh.Round
function Rounds:begin(data)
  local round = {
    id = data.roundId,
    by = data.by,
    goal = data.goal,
    state = "running",
    branches = {},
    by_label = {},
  }
  local early = self.early[data.roundId] or {}
  self.early[data.roundId] = nil
  for place, plan in ipairs(data.branches) do
    local branch = { plan = plan, state = "starting" }
    local heard = early[plan.label]
    if heard then
      branch.activity, branch.deadline = heard.activity, heard.deadline
    end
    round.branches[place], round.by_label[plan.label] = branch, branch
  end
  self.by_id[round.id], self.running[round.id] = round, round
  return round
end

--- What is told of a round whose start was not seen is passed over, here and below.
---@param data dsh.DeliberationBranch
function Rounds:branch(data)
  local round = self.by_id[data.roundId]
  local branch = round and round.by_label[data.label]
  if branch then
    branch.state = data.state
    branch.child = data.childSessionId or branch.child
    branch.stop_reason = data.stopReason
  end
end

---@param data dsh.DeliberationSettled
function Rounds:settle(data)
  local round = self.by_id[data.roundId]
  if not round then
    return
  end
  for _, outcome in ipairs(data.outcomes) do
    local branch = round.by_label[outcome.label]
    if branch then
      branch.state, branch.outcome = "settled", outcome
      branch.stop_reason = outcome.stopReason
      branch.child = outcome.childSessionId or branch.child
    end
  end
  round.state, self.running[round.id] = "settled", nil
end

--- Gives up the rounds that cannot come out any more: those of a turn that is over, or all when the
--- server is gone.
---@param by? dsh.RoundBy Only rounds that were asked for so.
function Rounds:lose(by)
  for id, round in pairs(self.running) do
    if not by or round.by == by then
      round.state, self.running[id] = "lost", nil
      for _, branch in ipairs(round.branches) do
        branch.state = branch.state == "settled" and "settled" or "lost"
      end
    end
  end
end

--- Takes what is not logged. It may come before its round, and is of no use after it.
---@param notice dsh.DeliberateBranch
---@param now integer In milliseconds of the caller's clock.
function Rounds:heard(notice, now)
  local heard = { activity = notice.activity, deadline = now + notice.remainingMs }
  local round = self.by_id[notice.roundId]
  if not round then
    self.early[notice.roundId] = self.early[notice.roundId] or {}
    self.early[notice.roundId][notice.label] = heard
    return
  end
  local branch = round.by_label[notice.label]
  if branch then
    branch.activity, branch.deadline = heard.activity or branch.activity, heard.deadline
  end
end

--- The rounds that have not come out.
---@return dsh.Round[]
function Rounds:open()
  local open = {}
  for _, round in pairs(self.running) do
    open[#open + 1] = round
  end
  return open
end

return Rounds
