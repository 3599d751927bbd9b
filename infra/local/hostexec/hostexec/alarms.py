"""Alarms that are evaluated soon.

LocalEmu looks at an alarm once in its period, five minutes say. AWS does at least
once a minute (Amazon CloudWatch user guide, "Alarm evaluation").
"""

from localemu.services.cloudwatch.alarm_scheduler import AlarmScheduler

SECONDS = 10


def apply() -> None:
    schedule = AlarmScheduler.schedule_metric_alarm

    def schedule_soon(self, alarm_arn):
        schedule(self, alarm_arn)
        task = self.scheduled_alarms.get(alarm_arn)
        if task:
            task.period = min(task.period, SECONDS)

    AlarmScheduler.schedule_metric_alarm = schedule_soon
