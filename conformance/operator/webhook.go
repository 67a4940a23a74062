package operator

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// hooks fill in the phrase, and refuse rude ones.
type hooks struct{}

func setUpWebhook(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &Greeting{}).
		WithDefaulter(hooks{}).
		WithValidator(hooks{}).
		Complete()
}

func (hooks) Default(_ context.Context, greeting *Greeting) error {
	if greeting.Spec.Phrase == "" {
		greeting.Spec.Phrase = "Hello"
	}
	return nil
}

func (hooks) ValidateCreate(_ context.Context, greeting *Greeting) (admission.Warnings, error) {
	return check(greeting)
}

func (hooks) ValidateUpdate(_ context.Context, _, greeting *Greeting) (admission.Warnings, error) {
	return check(greeting)
}

func (hooks) ValidateDelete(_ context.Context, _ *Greeting) (admission.Warnings, error) {
	return nil, nil
}

func check(greeting *Greeting) (admission.Warnings, error) {
	if greeting.Spec.Phrase == "Go away" {
		return nil, fmt.Errorf("%q is no greeting", greeting.Spec.Phrase)
	}
	if len(greeting.Spec.Names) == 0 {
		return admission.Warnings{"nobody is greeted"}, nil
	}
	return nil, nil
}
